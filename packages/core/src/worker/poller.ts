import { sleep } from "../clock.ts";
import { fromUnknown } from "../errors.ts";
import type { Delivery } from "../queue/driver.ts";
import { backoffMs } from "../util/retry.ts";
import { within } from "../util/timeout.ts";
import type { QueuePosition } from "./queue-position.ts";
import { brokerLeaseMs, type Runtime } from "./runtime.ts";

/** Receives no more than what there are free slots for. */
export interface Poller {
  /** Polls until the signal aborts; resolves when the last poll has been answered and what came with it was handed over. */
  loop(signal: AbortSignal): Promise<void>;
  /** There may be more free slots than before. */
  slotFreed(): void;
}

export interface PollerParts {
  readonly runtime: Runtime;
  readonly position: QueuePosition;
  readonly freeSlots: () => number;
  readonly accept: (delivery: Delivery) => void;
  /** Gives back what a poll brought after the stop. */
  readonly giveBack: (deliveries: readonly Delivery[]) => void;
}

/** The longest poll, ms: what SQS allows. */
const WAIT_MS = 20_000;
/** A receive without an answer is given up this long after its wait, ms; what it may have leased comes back. */
const RECEIVE_GRACE_MS = 30_000;
/** Free slots worth a poll; fewer wait for more, at most {@link GATHER_MS}. */
const WORTH_A_POLL = 10;
const GATHER_MS = 20;
/** The pause after an empty answer that came sooner than this, ms. */
const EMPTY_PAUSE_MS = 100;
/** First and longest wait after a poll that failed, ms. */
const FAILED_BASE_MS = 1_000;
const FAILED_CAP_MS = 30_000;

export function createPoller(parts: PollerParts): Poller {
  const { runtime, position, freeSlots } = parts;
  const { clock, driver, entropy, settings, telemetry, logger } = runtime;
  const worth = Math.max(Math.min(WORTH_A_POLL, Math.floor(settings.concurrency / 2)), 1);
  let wake: (() => void) | undefined;

  /** Waits until enough slots are free for a poll. */
  const gather = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && freeSlots() < 1) await nextSlot(signal);
    if (freeSlots() >= worth) return;
    const gathered = new AbortController();
    const timer = clock.setTimer(GATHER_MS, () => gathered.abort());
    while (!signal.aborted && !gathered.signal.aborted && freeSlots() < worth) await nextSlot(signal, gathered.signal);
    timer.cancel();
  };

  const nextSlot = (...signals: readonly AbortSignal[]): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        wake = undefined;
        for (const signal of signals) signal.removeEventListener("abort", done);
        resolve();
      };
      wake = done;
      for (const signal of signals) {
        if (signal.aborted) done();
        else signal.addEventListener("abort", done, { once: true });
      }
    });

  /** False: an empty answer that came at once. */
  const poll = async (signal: AbortSignal): Promise<boolean> => {
    const startedMonotonic = clock.monotonic();
    const call = driver.receive({
      max: Math.min(freeSlots(), driver.capabilities.maxBatch),
      waitMs: WAIT_MS,
      leaseMs: brokerLeaseMs(runtime, settings.receiveLeaseMs),
      signal,
    });
    const deliveries = await within(clock, WAIT_MS + RECEIVE_GRACE_MS, "receive", call);
    if (signal.aborted) {
      parts.giveBack(deliveries);
      return true;
    }
    if (deliveries.length === 0) {
      const waitedMs = clock.monotonic() - startedMonotonic;
      position.empty(waitedMs);
      return waitedMs >= EMPTY_PAUSE_MS;
    }
    position.received(deliveries);
    telemetry.received(driver.queue, deliveries.length, driver.provider);
    for (const delivery of deliveries) parts.accept(delivery);
    return true;
  };

  return {
    async loop(signal) {
      let failures = 0;
      while (!signal.aborted) {
        await gather(signal);
        if (signal.aborted) return;
        // What was free may have gone while it was waited for more.
        if (freeSlots() < 1) continue;
        try {
          // A broker that answers an empty poll at once (a limit in flight, SQS-70) must not be asked in a hot loop.
          if (!(await poll(signal))) await sleep(clock, EMPTY_PAUSE_MS, signal);
          failures = 0;
        } catch (error) {
          if (signal.aborted) return;
          const failure = fromUnknown(error, "receive");
          telemetry.callFailed("receive", failure.code);
          if (failures === 0)
            logger.warn("a receive failed; polling goes on with back-off", {
              code: failure.code,
              error: failure.message,
            });
          await sleep(clock, backoffMs(failures, FAILED_BASE_MS, FAILED_CAP_MS, entropy), signal);
          failures += 1;
        }
      }
    },
    slotFreed() {
      wake?.();
    },
  };
}
