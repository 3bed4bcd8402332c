import { type ItemStore, LeaseholdError, type QueueDriver } from "@leasehold/core/driver";
import type { ProcessClock } from "@leasehold/core/memory";
import { CALL_FAULTS, type CallFault, type FaultPlace, type Injector } from "./faults.ts";
import type { Host } from "./host.ts";

/**
 * The way between a process and everything that it shares with others. A request travels by the world's clock, so that it
 * arrives although its sender has died; an answer comes by the clock of the process, so that it is late for one that
 * stands still, and never comes for a dead one.
 */
export interface Wire {
  items(host: Host, items: ItemStore): ItemStore;
  queue(host: Host, driver: QueueDriver): QueueDriver;
}

const READ_FAULTS = CALL_FAULTS.filter((kind) => kind !== "late_repeat");
/** How long a caller waits for an answer that was lost, ms. */
const LOST_AFTER_MS = 300;

/** Mostly short; sometimes longer than a lease. */
export function slowMs(size: number): number {
  if (size < 0.5) return Math.round(50 + size * 2_000);
  return Math.round(size < 0.85 ? 500 + (size - 0.5) * 10_000 : 4_000 + (size - 0.85) * 60_000);
}

export function createWire({
  network,
  injector,
}: {
  readonly network: ProcessClock;
  readonly injector: Injector;
}): Wire {
  const never = <T>(): Promise<T> => new Promise(() => undefined);

  function call<T>(host: Host, name: string, place: FaultPlace, apply: () => Promise<T>): Promise<T> {
    if (!host.alive) return never();
    const { kind, size } = place.next() as { readonly kind?: CallFault; readonly size: number };
    if (kind === "crash_in_call") host.kill();
    if (kind === "stall_in_call") host.pause(slowMs(size));
    const cutShort = (kind === "crash_in_call" && size < 0.5) || (kind === "stall_in_call" && size > 0.6);
    const arrives = kind !== "drop_request" && kind !== "transient_error" && !cutShort;
    const requestMs = 1 + Math.round((size * 1_000) % host.distanceMs) + (kind === "slow_request" ? slowMs(size) : 0);
    const answerMs = 1 + Math.round((size * 10_000) % host.distanceMs) + (kind === "slow_answer" ? slowMs(size) : 0);
    return new Promise<T>((resolve, reject) => {
      const lost = (what: string, afterMs: number): void => {
        host.clock.setTimer(afterMs, () => reject(new LeaseholdError("Unavailable", `${name}: ${what}`)));
      };
      if (!arrives) {
        lost(
          kind === "transient_error" ? "try again" : "the request was lost",
          kind === "drop_request" ? LOST_AFTER_MS : requestMs,
        );
        return;
      }
      const answered = (ok: boolean, value: unknown): void => {
        if (kind === "crash_after_call") host.kill();
        else if (kind === "drop_answer") lost("the answer was lost", LOST_AFTER_MS);
        else host.clock.setTimer(answerMs, () => (ok ? resolve(value as T) : reject(value)));
        if (kind === "late_repeat") network.setTimer(slowMs(size), () => void apply().catch(() => undefined));
      };
      network.setTimer(requestMs, () => {
        apply().then(
          (value) => answered(true, value),
          (error: unknown) => answered(false, error),
        );
      });
    });
  }

  return {
    items(host, items) {
      const place = (method: string, kinds: readonly CallFault[]) => injector.place(`${host.name}.${method}`, kinds);
      const gets = place("get", READ_FAULTS);
      const puts = place("put", CALL_FAULTS);
      const updates = place("update", CALL_FAULTS);
      const queries = place("query", READ_FAULTS);
      return {
        get: (key) => call(host, "get", gets, () => items.get(key)),
        put: (key, item, condition) => call(host, "put", puts, () => items.put(key, item, condition)),
        update: (key, update, condition) => call(host, "update", updates, () => items.update(key, update, condition)),
        query: (query) => call(host, "query", queries, () => items.query(query)),
        close: () => items.close(),
      };
    },
    queue(host, driver) {
      const place = (method: string, kinds: readonly CallFault[]) => injector.place(`${host.name}.${method}`, kinds);
      const sends = place("send", CALL_FAULTS);
      const receives = place("receive", READ_FAULTS);
      const extensions = place("extend", CALL_FAULTS);
      const settles = place("settle", CALL_FAULTS);
      return {
        provider: driver.provider,
        queue: driver.queue,
        capabilities: driver.capabilities,
        send: (messages) => call(host, "send", sends, () => driver.send(messages)),
        receive: (options) => call(host, "receive", receives, () => driver.receive(options)),
        extend: (items) => call(host, "extend", extensions, () => driver.extend(items)),
        settle: (items) => call(host, "settle", settles, () => driver.settle(items)),
        countVisible: () => call(host, "count", receives, () => driver.countVisible?.() ?? Promise.resolve(0)),
        close: () => driver.close(),
      };
    },
  };
}
