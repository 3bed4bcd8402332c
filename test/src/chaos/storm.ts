import type { BrokerActs, Emulator, FaultError } from "@leasehold/emulators";
import type { Dice } from "../simulation/random.ts";
import type { Fleet, Member } from "./fleet.ts";

export const STORM_KINDS = [
  "worker killed",
  "worker stopped beyond its lease",
  "connections cut",
  "connections half-open",
  "latency",
  "broker restarted",
  "store out",
  "broker throttled",
  "store throttled",
  "messages lost, doubled or taken back",
] as const;
export type StormKind = (typeof STORM_KINDS)[number];

export interface StormParts {
  readonly fleet: Fleet;
  readonly broker: Emulator;
  /** Of the queue. */
  readonly acts: BrokerActs;
  readonly store: Emulator;
  readonly throttled: FaultError;
  readonly dice: Dice;
  readonly happened: (kind: StormKind) => void;
}

/** The store's own words for it; the code of the service's page on errors. */
const STORE_THROTTLED: FaultError = { code: "ProvisionedThroughputExceededException" };
/** Leases of a chaos run are 2 s, and clocks differ by 400 ms. */
const BEYOND_LEASE_MS = [2_600, 6_000] as const;

/**
 * One thing after another goes wrong, several at a time, until the signal aborts; then everything is put right, and the
 * promise resolves. Which, when and for how long is the dice's: what comes of it is not, since machines differ.
 */
export async function storm(parts: StormParts, signal: AbortSignal): Promise<void> {
  const { dice, happened } = parts;
  const under = new Set<Promise<void>>();
  const busy = new Set<unknown>();
  let due = 0;
  for (let turn = 0; !signal.aborted; turn++) {
    // Each kind comes up in each round, whatever the dice say; one whose place is busy stays due, however slow the machine is.
    const isDue = turn % 2 === 0;
    const kind = isDue ? (STORM_KINDS[due % STORM_KINDS.length] as StormKind) : dice.pick(STORM_KINDS);
    const idle = parts.fleet.members.filter((each) => !busy.has(each));
    const member = dice.pick(idle.length > 0 ? idle : parts.fleet.members);
    const place = placeOf(kind, member, parts);
    if (!busy.has(place)) {
      busy.add(place);
      const harm = cause(kind, member, parts, signal).finally(() => {
        busy.delete(place);
        under.delete(harm);
      });
      under.add(harm);
      happened(kind);
      if (isDue) due++;
    }
    await pause(dice.int(200, 900), signal);
  }
  await Promise.all(under);
}

/** Where one thing happens at a time. */
function placeOf(kind: StormKind, member: Member, { broker, store }: StormParts): unknown {
  if (kind.startsWith("messages")) return kind;
  if (kind.startsWith("broker")) return broker;
  return kind.startsWith("store") ? store : member;
}

/** What the broker does by itself to some of its messages. Where the service rules out that one is doubled, it is taken back. */
async function meddle({ acts, dice }: StormParts): Promise<void> {
  for (const id of acts.messageIds()) {
    if (!dice.chance(0.3)) continue;
    const act = dice.pick(["lose", "duplicate", "expire"] as const);
    if (!acts[act](id)) acts.expire(id);
  }
}

async function cause(kind: StormKind, member: Member, parts: StormParts, signal: AbortSignal): Promise<void> {
  const { broker, dice, store, throttled } = parts;
  const proxy = dice.chance(0.5) ? member.toQueue : member.toStore;
  switch (kind) {
    case "worker killed":
      return member.kill();
    case "worker stopped beyond its lease":
      member.pause();
      await pause(dice.int(...BEYOND_LEASE_MS), signal);
      return member.resume();
    case "connections cut":
      for (let times = dice.int(1, 4); times > 0; times--) {
        proxy.cut();
        await pause(dice.int(10, 200), signal);
      }
      return;
    case "connections half-open":
      proxy.freeze();
      await pause(dice.int(500, 4_000), signal);
      return proxy.thaw();
    case "latency":
      proxy.latencyMs = dice.int(20, 400);
      await pause(dice.int(500, 3_000), signal);
      proxy.latencyMs = 0;
      return;
    case "broker restarted":
      return away(broker, dice.int(100, 3_000), signal);
    case "store out":
      return away(store, dice.int(100, 4_000), signal);
    case "broker throttled":
      return throttle(broker, throttled, dice.int(300, 2_500), signal);
    case "store throttled":
      return throttle(store, STORE_THROTTLED, dice.int(300, 2_500), signal);
    case "messages lost, doubled or taken back":
      return meddle(parts);
  }
}

async function away(server: Emulator, ms: number, signal: AbortSignal): Promise<void> {
  await server.pause();
  await pause(ms, signal);
  await server.resume();
}

async function throttle(server: Emulator, error: FaultError, ms: number, signal: AbortSignal): Promise<void> {
  const rule = server.faults.add({ error, times: Number.POSITIVE_INFINITY });
  await pause(ms, signal);
  rule.remove();
}

/** Ends early when the storm does. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}
