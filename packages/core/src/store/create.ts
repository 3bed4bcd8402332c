import { MAX_INPUT_BYTES } from "../envelope/envelope.ts";
import { LeaseholdError } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import { byteLength } from "../util/json.ts";
import { expiry, laterTime, requireTaskId, requireText, storedTime } from "./arguments.ts";
import type { Item, ItemStore } from "./items.ts";
import { checkShardOf, payloadKey, statusShardOf, taskKey } from "./keys.ts";
import { parseRecord } from "./parse.ts";
import type { CreateOutcome, NewTask } from "./task-store.ts";

/**
 * Writes the payload, then the record: a crash between the two leaves a payload that expires, never a record without one.
 * A payload that is there already gets the later expiry of the two.
 */
export async function create(items: ItemStore, task: NewTask): Promise<CreateOutcome> {
  const record = recordOf(task);
  const payload = { text: task.input, expire_at: expiry(Math.max(task.at, task.notBefore ?? 0), 2 * task.retentionMs) };
  await items.put(record.payload_ref, payload, {
    any: [{ absent: "text" }, { field: "expire_at", is: "<", value: payload.expire_at }],
  });
  const outcome = await items.put(taskKey(task.taskId), record as Item, { absent: "task_id" });
  if (outcome.applied) return { outcome: "created", record };
  if (outcome.old === undefined)
    throw new LeaseholdError("Unknown", `create of task ${task.taskId}: refused, and no record is there`);
  const found = parseRecord(outcome.old, task.taskId);
  return { outcome: found.lease_token === task.token ? "created" : "exists", record: found };
}

function recordOf(task: NewTask): TaskRecord {
  requireTaskId(task.taskId);
  requireText(task.type, "type");
  requireText(task.queue, "queue");
  requireText(task.inputHash, "inputHash");
  requireText(task.idempotencyKey, "idempotencyKey");
  requireText(task.token, "token");
  const at = storedTime(task.at, "at");
  const startAt = task.notBefore ?? task.at;
  const kind = task.lease === undefined ? "waiting" : "leased";
  return {
    task_id: task.taskId,
    task_type: task.type,
    queue: task.queue,
    ...optionalText("agent_run_id", task.agentRunId, "agentRunId"),
    status: task.lease === undefined ? "queued" : "leased",
    stage: "preflight",
    lease_token: task.token,
    lease_seq: 0,
    renewal_count: 0,
    ...leaseOf(task),
    ...(task.notBefore === undefined ? {} : { not_before: storedTime(task.notBefore, "notBefore") }),
    ...(task.deadline === undefined ? {} : { deadline: storedTime(task.deadline, "deadline") }),
    check_at: laterTime(startAt, "notBefore", task.recoverAfterMs, "recoverAfterMs"),
    check_shard: checkShardOf(task.queue, kind, task.taskId),
    sent_at: storedTime(startAt, "notBefore"),
    status_shard: statusShardOf(task.lease === undefined ? "queued" : "leased", task.taskId),
    ...optionalText("ordering_key", task.orderingKey, "orderingKey"),
    input_hash: task.inputHash,
    payload_ref: payloadKeyOf(task),
    idempotency_key: task.idempotencyKey.toWellFormed(),
    effects: {},
    open_effects: 0,
    last_claims: [],
    claim_count: 0,
    attempts: [],
    ...optionalText("trace_id", task.traceId, "traceId"),
    ...optionalText("traceparent", task.traceparent, "traceparent"),
    created_at: at,
    updated_at: at,
  };
}

/** The counters of a new task: never acquired, or acquired by the write that makes it. */
function leaseOf(
  task: NewTask,
): Pick<TaskRecord, "fence" | "attempt" | "attempts_total" | "delivery_count"> & Partial<TaskRecord> {
  const { lease } = task;
  if (lease === undefined) return { fence: 0, attempt: 0, attempts_total: 0, delivery_count: 0 };
  requireText(lease.owner, "lease.owner");
  return {
    fence: 1,
    attempt: 1,
    attempts_total: 1,
    delivery_count: 1,
    lease_owner: lease.owner.toWellFormed(),
    lease_expires_at: laterTime(task.at, "at", lease.leaseMs, "lease.leaseMs"),
    acquired_at: storedTime(task.at, "at"),
  };
}

function payloadKeyOf(task: NewTask): string {
  if (typeof task.input !== "string") throw new LeaseholdError("InvalidArgument", "input: expected JSON text");
  const size = byteLength(task.input);
  if (size > MAX_INPUT_BYTES) {
    throw new LeaseholdError(
      "PayloadTooLarge",
      `input: ${size} bytes, at most ${MAX_INPUT_BYTES} can be stored; keep it elsewhere and pass a reference`,
      {
        details: { limit: MAX_INPUT_BYTES, size },
      },
    );
  }
  return payloadKey(task.taskId, task.inputHash);
}

function optionalText<F extends string>(
  name: F,
  value: string | undefined,
  field: string,
): { readonly [name in F]?: string } {
  if (value === undefined) return {};
  requireText(value, field);
  return { [name]: value.toWellFormed() } as { readonly [name in F]: string };
}
