import { formatTime, parseTime } from "../clock.ts";
import type { TaskRecord } from "../record/record.ts";
import type { DueTask } from "../store/task-store.ts";
import { within } from "../util/timeout.ts";
import type { QueuePosition } from "./queue-position.ts";
import { sendRing } from "./ring.ts";
import { labelOf, type Runtime } from "./runtime.ts";

/** Looks at single tasks whose `check_at` has come. */
export interface RecoveryCheck {
  /** The queue has moved past the task's message, or it has none to move past. */
  movedPast(entry: DueTask): boolean;
  /** It was looked at before and left alone, and nothing has changed that: no need to read it again. */
  isLeft(entry: DueTask): boolean;
  /** Reads the record, and rings the task when it should have started and did not. `true`: rung. */
  check(entry: DueTask): Promise<boolean>;
}

/** A call to the store that is not answered is given up after this, ms. */
export const RECOVERY_CALL_TIMEOUT_MS = 30_000;
/** A task with an ordering key that nothing has overtaken is rung after this, ms. */
const KEYED_PATIENCE_MS = 3_600_000;
/** Tasks that are remembered as left alone; the one that was found first is forgotten, and read again. */
const LEFT_REMEMBERED = 10_000;

export function createRecoveryCheck(
  runtime: Runtime,
  position: QueuePosition,
  knownTypes: ReadonlySet<string>,
): RecoveryCheck {
  const { clock, entropy, settings, store, telemetry } = runtime;
  const { recoverAfterMs } = settings;
  /** Tasks that stay where they are in the index: of a type that is unknown here, or (with its key) waiting to be overtaken. */
  const left = new Map<string, { readonly checkAt: number; readonly orderingKey: string | undefined }>();

  const sentAtOf = (entry: DueTask): number => entry.checkAt - recoverAfterMs;

  const movedPast = (entry: DueTask): boolean => position.movedPast(sentAtOf(entry), recoverAfterMs);

  /** With an ordering key an empty queue says nothing. */
  const overtakenInKey = (orderingKey: string, entry: DueTask): boolean =>
    position.movedPastInKey(orderingKey, sentAtOf(entry)) || clock.now() - sentAtOf(entry) >= KEYED_PATIENCE_MS;

  const leave = (entry: DueTask, orderingKey?: string): false => {
    left.delete(entry.taskId);
    left.set(entry.taskId, { checkAt: entry.checkAt, orderingKey });
    if (left.size > LEFT_REMEMBERED) {
      const first = left.keys().next();
      if (first.done !== true) left.delete(first.value);
    }
    return false;
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
    const call = store.moveCheck({
      taskId: record.task_id,
      queue: record.queue,
      read: { check_at: record.check_at ?? formatTime(0), status: record.status, fence: record.fence },
      at: clock.now(),
      checkAt,
      kind,
      token: entropy.token(),
      ...change,
    });
    const outcome = await within(clock, RECOVERY_CALL_TIMEOUT_MS, "move of a check", call);
    return outcome.outcome === "written" ? outcome.record : undefined;
  };

  return {
    movedPast,
    isLeft(entry) {
      const known = left.get(entry.taskId);
      if (known?.checkAt !== entry.checkAt) return false;
      return known.orderingKey === undefined || !overtakenInKey(known.orderingKey, entry);
    },
    async check(entry) {
      left.delete(entry.taskId);
      const record = await within(clock, RECOVERY_CALL_TIMEOUT_MS, "read of a record", store.get(entry.taskId));
      if (record?.check_at === undefined || parseTime(record.check_at) !== entry.checkAt) return false;
      if (!knownTypes.has(record.task_type)) return leave(entry);
      if (record.status === "leased") return checkLeased(record);
      if (record.status !== "queued" && record.status !== "released") return false;
      const { ordering_key } = record;
      if (ordering_key !== undefined && !overtakenInKey(ordering_key, entry)) return leave(entry, ordering_key);
      const overtaken = ordering_key !== undefined || movedPast(entry);
      return overtaken && ring(record, "lost");
    },
  };
}
