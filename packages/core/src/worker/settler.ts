import type { Timer } from "../clock.ts";
import { sleep } from "../clock.ts";
import { copyId } from "../envelope/ids.ts";
import { isTransient, type LeaseholdError } from "../errors.ts";
import type { DeadLetterReason, Outcome, SettleItem } from "../queue/driver.ts";
import { outcomesOf } from "../queue/outcomes.ts";
import { backoffMs } from "../util/retry.ts";
import { within } from "../util/timeout.ts";
import type { HeldDelivery } from "./deliveries.ts";
import type { Runtime } from "./runtime.ts";

/** What is done with a delivery. */
export type DeliveryEnd =
  | { readonly verb: "complete" }
  | { readonly verb: "abandon"; readonly delayMs: number }
  | { readonly verb: "dead-letter"; readonly reason: DeadLetterReason; readonly fence?: number };

/** Settles deliveries, each once, in batches. A failed or unclear settle changes nothing: a duplicate finds the record as it is. */
export interface Settler {
  /** `taskId`: names copies. Resolves when the broker has answered, or when no further try makes sense. `now`: do not wait for a full batch. */
  settle(held: HeldDelivery, taskId: string, end: DeliveryEnd, options?: { readonly now?: boolean }): Promise<void>;
  /** Sends what waits, and waits for all answers. */
  flush(): Promise<void>;
  /** Settles that wait or are under way. */
  readonly pending: number;
}

/** How long a batch waits to be full, ms. */
const LINGER_MS = 20;
/** A settle without an answer is given up after this, ms. */
const SETTLE_TIMEOUT_MS = 30_000;
/** Tries of one settle. */
const MAX_TRIES = 4;

interface Waiting {
  readonly held: HeldDelivery;
  readonly item: SettleItem;
  readonly resolve: () => void;
  tries: number;
}

/** `onSettled`: one settle fewer is pending. */
export function createSettler(runtime: Runtime, onSettled: () => void = () => undefined): Settler {
  const { clock, driver, entropy, telemetry, logger } = runtime;
  const { maxBatch, maxAbandonDelayMs } = driver.capabilities;
  let waiting: Waiting[] = [];
  let timer: Timer | undefined;
  let pending = 0;
  const underWay = new Set<Promise<void>>();

  const itemOf = (held: HeldDelivery, taskId: string, end: DeliveryEnd): SettleItem => {
    const { delivery } = held;
    const id = copyId(taskId, delivery.messageId);
    switch (end.verb) {
      case "complete":
        return { verb: "complete", delivery };
      case "abandon":
        return {
          verb: "abandon",
          delivery,
          delayMs: Math.round(Math.min(Math.max(end.delayMs, 0), maxAbandonDelayMs)),
          copyId: id,
        };
      case "dead-letter":
        return {
          verb: "dead-letter",
          delivery,
          reason: end.reason,
          copyId: id,
          ...(end.fence === undefined ? {} : { fence: end.fence }),
        };
    }
  };

  const send = (): void => {
    timer?.cancel();
    timer = undefined;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxBatch);
      waiting = waiting.slice(maxBatch);
      const call: Promise<void> = sendBatch(batch).finally(() => underWay.delete(call));
      underWay.add(call);
    }
  };

  const sendBatch = async (entries: readonly Waiting[]): Promise<void> => {
    const batch = entries.filter(inTime);
    if (batch.length === 0) return;
    const items = batch.map((entry) => entry.item);
    const outcomes = await outcomesOf(
      () => within(clock, SETTLE_TIMEOUT_MS, "settle", driver.settle(items)),
      items.length,
      "settle",
    );
    const again: Waiting[] = [];
    batch.forEach((entry, index) => {
      const outcome = outcomes[index];
      entry.tries += 1;
      if (outcome?.status === "failed") telemetry.callFailed(entry.item.verb, outcome.code);
      else if (isUnanswered(outcome)) telemetry.callFailed(entry.item.verb, outcome.error.code);
      if (mayTryAgain(entry, outcome)) {
        again.push(entry);
        return;
      }
      if (outcome?.status === "failed" && !isTransient(outcome.error)) {
        logger.warn("a delivery could not be settled; it will come again", {
          verb: entry.item.verb,
          code: outcome.code,
          error: outcome.error.message,
        });
      }
      resolve(entry);
    });
    if (again.length === 0) return;
    await sleep(clock, backoffMs(again[0]?.tries ?? 1, 100, 2_000, entropy));
    await sendBatch(again);
  };

  /**
   * A complete is right whenever it comes; an abandon never past the broker's deadline: it could take the message from another.
   * Asked when it is sent: the process may have stood still since it was put in line.
   */
  const inTime = (entry: Waiting): boolean => {
    if (entry.item.verb !== "abandon" || !entry.held.pastDeadline()) return true;
    resolve(entry);
    return false;
  };

  const resolve = (entry: Waiting): void => {
    pending -= 1;
    entry.resolve();
    onSettled();
  };

  /** An abandon whose answer was lost is not repeated: it may have been applied, and somebody else may hold the message. */
  const mayTryAgain = (entry: Waiting, outcome: Outcome | undefined): boolean => {
    if (entry.tries >= MAX_TRIES) return false;
    if (isUnanswered(outcome)) return entry.item.verb === "complete";
    return outcome?.status === "failed" && isTransient(outcome.error);
  };

  return {
    async settle(held, taskId, end, options = {}) {
      if (!(await held.claimSettle(end.verb))) return;
      if (end.verb === "abandon" && held.pastDeadline()) return;
      // A push runtime settles by what the handler returns.
      if (driver.capabilities.settle === "return" && end.verb !== "dead-letter") return;
      const done = new Promise<void>((resolve) => {
        waiting.push({ held, item: itemOf(held, taskId, end), resolve, tries: 0 });
      });
      pending += 1;
      if (waiting.length >= maxBatch || options.now === true) send();
      else timer ??= clock.setTimer(LINGER_MS, send);
      await done;
    },
    async flush() {
      while (pending > 0) {
        send();
        await Promise.all(underWay);
      }
    },
    get pending() {
      return pending;
    },
  };
}

/** Its answer was lost. An `unconfirmed` without an error is all that some brokers ever say. */
function isUnanswered(
  outcome: Outcome | undefined,
): outcome is Extract<Outcome, { readonly status: "unconfirmed" }> & { readonly error: LeaseholdError } {
  return outcome?.status === "unconfirmed" && outcome.error !== undefined;
}
