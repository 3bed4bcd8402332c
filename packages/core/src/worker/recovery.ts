import { formatTime, parseTime, sleep } from "../clock.ts";
import { fromUnknown } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import { CHECK_SHARDS, type DueTask } from "../store/task-store.ts";
import type { QueuePosition } from "./queue-position.ts";
import { sendRing } from "./ring.ts";
import { labelOf, type Runtime } from "./runtime.ts";

/**
 * The recovery loop: a task is never lost with its message. It looks at tasks whose `check_at` has come, presumes a message
 * lost only when the queue has moved past it, and rings. An extra message is harmless by construction.
 */
export interface Recovery {
  /** Runs until the signal aborts. */
  loop(signal: AbortSignal): Promise<void>;
  /** One pass over all partitions, for a scheduled call; stops early after `maxMs`. Returns how many tasks were rung. */
  pass(maxMs: number, signal?: AbortSignal): Promise<number>;
}

/** Keys read at a time. */
const KEYS_PER_TICK = 100;
/** A task with an ordering key that nothing has overtaken is rung after this, ms. */
const KEYED_PATIENCE_MS = 3_600_000;

interface Partition {
  readonly kind: "waiting" | "leased";
  readonly shard: number;
}

export function createRecovery(runtime: Runtime, position: QueuePosition, knownTypes: ReadonlySet<string>): Recovery {
  const { clock, driver, entropy, logger, settings, store, telemetry } = runtime;
  const { recoverAfterMs } = settings;

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

  const tick = async (partition: Partition): Promise<number> => {
    const due = await store.dueForCheck({ queue: driver.queue, ...partition, at: clock.now(), limit: KEYS_PER_TICK });
    if (due.length === 0) return 0;
    if (partition.kind === "waiting" && position.looksEmpty() && driver.countVisible !== undefined) {
      position.counted(await driver.countVisible());
    }
    let rung = 0;
    for (const entry of due) {
      // Oldest first: what the queue has not moved past, and all behind it, is neither read nor moved.
      if (partition.kind === "waiting" && !movedPast(entry)) break;
      if (await check(entry)) rung += 1;
    }
    return rung;
  };

  const sentAtOf = (entry: DueTask): number => entry.checkAt - recoverAfterMs;

  const movedPast = (entry: DueTask): boolean => position.movedPast(sentAtOf(entry), recoverAfterMs);

  /** Looks at one record; rings it when it should have started and did not. */
  const check = async (entry: DueTask): Promise<boolean> => {
    const record = await store.get(entry.taskId);
    if (record?.check_at === undefined || parseTime(record.check_at) !== entry.checkAt) return false;
    if (!knownTypes.has(record.task_type)) return false;
    if (record.status === "leased") return checkLeased(record);
    if (record.status !== "queued" && record.status !== "released") return false;
    const sentAt = sentAtOf(entry);
    const overtaken =
      record.ordering_key === undefined
        ? movedPast(entry)
        : position.movedPastInKey(record.ordering_key, sentAt) || clock.now() - sentAt >= KEYED_PATIENCE_MS;
    return overtaken && ring(record, "lost");
  };

  const checkLeased = async (record: TaskRecord): Promise<boolean> => {
    const expiry = parseTime(record.lease_expires_at ?? record.updated_at);
    if (expiry + settings.maxClockSkewMs < clock.now()) return ring(record, "lapsed");
    await move(record, "leased", expiry + recoverAfterMs);
    return false;
  };

  /** Moves `check_at` under what was read, then sends: a crash between the two is the next check's. */
  const ring = async (record: TaskRecord, cause: "lost" | "lapsed"): Promise<boolean> => {
    const now = clock.now();
    const lapsed = cause === "lapsed";
    const counts = lapsed && record.expiry_counted !== record.fence;
    const moved = await move(record, "waiting", now + recoverAfterMs, { sentAt: now, countExpiry: counts });
    if (moved === undefined) return false;
    if (counts) telemetry.leaseExpired(labelOf(runtime, record.task_type), record.stage);
    return sendRing(runtime, moved, { cause });
  };

  const move = async (
    record: TaskRecord,
    kind: "waiting" | "leased",
    checkAt: number,
    change: { readonly sentAt?: number; readonly countExpiry?: boolean } = {},
  ): Promise<TaskRecord | undefined> => {
    const outcome = await store.moveCheck({
      taskId: record.task_id,
      queue: record.queue,
      read: { check_at: record.check_at ?? formatTime(0), status: record.status, fence: record.fence },
      at: clock.now(),
      checkAt,
      kind,
      token: entropy.token(),
      ...change,
    });
    return outcome.outcome === "written" ? outcome.record : undefined;
  };

  const tickSafely = async (partition: Partition): Promise<number> => {
    try {
      return await tick(partition);
    } catch (error) {
      const failure = fromUnknown(error, "recovery");
      telemetry.callFailed("recovery", failure.code);
      if (failure.code === "Unknown") logger.error("recovery could not look at a task", { error: failure.message });
      return 0;
    }
  };

  /** A pass that is called from outside may be all that this process does: no poll tells it how far the queue is. */
  const countSafely = async (): Promise<void> => {
    if (driver.countVisible === undefined) return;
    try {
      position.countedWithoutPolls(await driver.countVisible());
    } catch (error) {
      telemetry.callFailed("count", fromUnknown(error, "count of visible messages").code);
    }
  };

  return {
    async loop(signal) {
      /** One pass takes half of `recoverAfterMs`, jittered so that workers drift apart. */
      const everyMs = recoverAfterMs / 2 / (CHECK_SHARDS * 2);
      while (!signal.aborted) {
        for (const partition of partitions()) {
          await sleep(clock, everyMs * (0.5 + entropy.random()), signal);
          if (signal.aborted) return;
          await tickSafely(partition);
        }
      }
    },
    async pass(maxMs, signal) {
      const until = clock.monotonic() + maxMs;
      let rung = 0;
      await countSafely();
      for (const partition of partitions()) {
        if (signal?.aborted === true || clock.monotonic() >= until) break;
        rung += await tickSafely(partition);
      }
      return rung;
    },
  };
}
