import { sleep } from "../clock.ts";
import { fromUnknown, isTransient, type LeaseholdError } from "../errors.ts";
import { CHECK_SHARDS, type DueTask } from "../store/task-store.ts";
import { within } from "../util/timeout.ts";
import type { QueuePosition } from "./queue-position.ts";
import { createRecoveryCheck, RECOVERY_CALL_TIMEOUT_MS } from "./recovery-check.ts";
import type { Runtime } from "./runtime.ts";

/**
 * The recovery loop: a task is never lost with its message. It looks at tasks whose `check_at` has come, presumes a message
 * lost only when the queue has moved past it, and rings. An extra message is harmless by construction.
 */
export interface Recovery {
  /** Runs until the signal aborts. */
  loop(signal: AbortSignal): Promise<void>;
  /** One pass over all partitions, for a scheduled call; stops early after `maxMs`. Returns how many tasks were rung. */
  pass(maxMs: number): Promise<number>;
}

/** Keys read at a time, and records read in a tick. */
const KEYS_PER_TICK = 100;
/** Failures that are remembered as logged. */
const TOLD_REMEMBERED = 1_000;
/** Pages of keys in a tick: further ones are read past tasks that were left alone before. */
const PAGES_PER_TICK = 10;

interface Partition {
  readonly kind: "waiting" | "leased";
  readonly shard: number;
}

export function createRecovery(runtime: Runtime, position: QueuePosition, knownTypes: ReadonlySet<string>): Recovery {
  const { clock, driver, entropy, logger, settings, store, telemetry } = runtime;
  const checks = createRecoveryCheck(runtime, position, knownTypes);
  /** Where the next look at a partition begins, by its name: behind what the last one left alone. Absent: at the oldest. */
  const places = new Map<string, string>();
  /** The code that was logged last, by what failed. */
  const told = new Map<string, string>();

  /** All partitions in random order: each is seen once a pass, and a fleet does not look at one in step. */
  const partitions = (): Partition[] => {
    const all: Partition[] = [];
    for (let shard = 0; shard < CHECK_SHARDS; shard++) all.push({ kind: "waiting", shard }, { kind: "leased", shard });
    for (let index = all.length - 1; index > 0; index--) {
      const other = Math.floor(entropy.random() * (index + 1));
      [all[index], all[other]] = [all[other] as Partition, all[index] as Partition];
    }
    return all;
  };

  /** Logged once, until it works again or fails in another way: recovery that is off must not be silent, nor flood the log. */
  const failed = (doing: string, failure: LeaseholdError, text: string, about = doing): void => {
    telemetry.callFailed(doing, failure.code);
    if (told.get(about) === failure.code) return;
    if (told.size >= TOLD_REMEMBERED) told.clear();
    told.set(about, failure.code);
    logger.warn(text, { code: failure.code, error: failure.message });
  };

  /** The broker's own count; while it cannot be had, the queue does not pass for empty. */
  const count = async (note: (visible: number) => void): Promise<void> => {
    if (driver.countVisible === undefined) return;
    try {
      note(await within(clock, RECOVERY_CALL_TIMEOUT_MS, "count of visible messages", driver.countVisible()));
      told.delete("count");
    } catch (error) {
      note(Number.POSITIVE_INFINITY);
      failed(
        "count",
        fromUnknown(error, "count of visible messages"),
        "the visible messages cannot be counted: recovery cannot tell that the queue is empty, and rings only what later messages have overtaken",
      );
    }
  };

  /** Ends early when `enough`. */
  const tick = async (partition: Partition, enough: () => boolean): Promise<number> => {
    const place = placeOf(partition);
    let cursor = places.get(place);
    places.delete(place);
    let read = 0;
    let rung = 0;
    for (let pages = 0; pages < PAGES_PER_TICK && read < KEYS_PER_TICK; pages++) {
      const call = store.dueForCheck({
        queue: driver.queue,
        ...partition,
        at: clock.now(),
        limit: KEYS_PER_TICK - read,
        ...(cursor === undefined ? {} : { cursor }),
      });
      const due = await within(clock, RECOVERY_CALL_TIMEOUT_MS, "query of due checks", call);
      if (pages === 0 && due.items.length > 0 && partition.kind === "waiting" && position.looksEmpty())
        await count((visible) => position.counted(visible));
      for (const entry of due.items) {
        if (enough()) return rung;
        // Oldest first: what the queue has not moved past, and all behind it, is neither read nor moved.
        if (partition.kind === "waiting" && !checks.movedPast(entry)) return rung;
        if (checks.isLeft(entry)) continue;
        read += 1;
        if (await checkReadable(entry)) rung += 1;
      }
      cursor = due.cursor;
      if (cursor === undefined) return rung;
    }
    if (cursor !== undefined) places.set(place, cursor);
    return rung;
  };

  /** One record that cannot be read or moved does not keep recovery from the others. */
  const checkReadable = async (entry: DueTask): Promise<boolean> => {
    try {
      return await checks.check(entry);
    } catch (error) {
      const failure = fromUnknown(error, "recovery");
      if (isTransient(failure)) throw failure;
      failed("recovery", failure, `recovery could not look at task ${entry.taskId}`, entry.taskId);
      return false;
    }
  };

  const tickSafely = async (partition: Partition, enough: () => boolean): Promise<number> => {
    try {
      const rung = await tick(partition, enough);
      told.delete("recovery");
      return rung;
    } catch (error) {
      failed("recovery", fromUnknown(error, "recovery"), "recovery could not look for tasks that are due");
      return 0;
    }
  };

  return {
    async loop(signal) {
      /** One pass takes half of `recoverAfterMs`, jittered so that workers drift apart. */
      const everyMs = settings.recoverAfterMs / 2 / (CHECK_SHARDS * 2);
      while (!signal.aborted) {
        for (const partition of partitions()) {
          await sleep(clock, everyMs * (0.5 + entropy.random()), signal);
          if (signal.aborted) return;
          await tickSafely(partition, () => signal.aborted);
        }
      }
    },
    async pass(maxMs) {
      const until = clock.monotonic() + maxMs;
      const enough = (): boolean => clock.monotonic() >= until;
      let rung = 0;
      // A pass that is called from outside may be all that this process does: no poll tells it how far the queue is.
      await count((visible) => position.countedWithoutPolls(visible));
      let left = partitions();
      while (left.length > 0) {
        const unfinished: Partition[] = [];
        for (const partition of left) {
          if (enough()) return rung;
          rung += await tickSafely(partition, enough);
          if (places.has(placeOf(partition))) unfinished.push(partition);
        }
        left = unfinished;
      }
      return rung;
    },
  };
}

function placeOf(partition: Partition): string {
  return `${partition.kind} ${partition.shard}`;
}
