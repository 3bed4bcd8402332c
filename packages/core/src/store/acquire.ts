import { LeaseholdError } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import { laterTime, requireLength, requireText, storedTime } from "./arguments.ts";
import type { Condition, Item, ItemStore, ItemUpdate, ItemValue } from "./items.ts";
import { statusShardOf, taskKey } from "./keys.ts";
import { parseRecord, recordAfter } from "./parse.ts";
import type { AcquireOutcome, AcquireRequest } from "./task-store.ts";

/**
 * One conditional write; the record before it comes back with the answer, so nothing is read. Stage, claims, effects and
 * `check_at` stay as they are: the retry rule needs them, and recovery goes on looking after the task.
 *
 * A lapsed lease needs no mark that its expiry was counted: this write ends its fence, and no later write can count that one.
 */
export async function acquire(items: ItemStore, request: AcquireRequest): Promise<AcquireOutcome> {
  const at = storedTime(request.at, "at");
  const update = updateOf(request, at);
  const outcome = await items.update(taskKey(request.taskId), update, conditionOf(request, at));
  const { old } = outcome;
  if (old === undefined) {
    if (!outcome.applied) return { outcome: "missing" };
    throw new LeaseholdError(
      "Unknown",
      `acquire of task ${request.taskId}: applied, and the record before it did not come back`,
    );
  }
  if (outcome.applied) {
    const previous = await parseOrGiveBack(items, request, update, old);
    const expired = previous.status === "leased" && previous.expiry_counted !== previous.fence;
    return {
      outcome: "acquired",
      record: recordAfter(previous, update),
      previous,
      ...(expired ? { expiredStage: previous.stage } : {}),
    };
  }
  const record = parseRecord(old, request.taskId);
  // The answer of an earlier try was lost: this lease is ours.
  if (record.status === "leased" && record.lease_token === request.token) return { outcome: "acquired", record };
  return { outcome: "refused", record };
}

function conditionOf(request: AcquireRequest, at: string): Condition {
  requireLength(request.maxClockSkewMs, "maxClockSkewMs");
  // A skew longer than the time since 1970 lets nobody take over.
  const lapsedBefore = storedTime(Math.max(request.at - request.maxClockSkewMs, 0), "at");
  const { expect } = request;
  return {
    all: [
      { exists: "task_id" },
      ...(expect === undefined
        ? []
        : ([
            { field: "task_type", is: "=", value: expect.type },
            { field: "input_hash", is: "=", value: expect.inputHash },
          ] as const)),
      // A repeat of this call, even one that arrives after the lease has ended, is no second acquire.
      { any: [{ absent: "lease_token" }, { field: "lease_token", is: "<>", value: request.token }] },
      {
        any: [
          {
            all: [
              {
                any: [
                  { field: "status", is: "=", value: "queued" },
                  { field: "status", is: "=", value: "released" },
                ],
              },
              {
                any: [
                  { absent: "not_before" },
                  { field: "not_before", is: "<=", value: at },
                  // Ended at once, not started: so it need not wait.
                  { field: "deadline", is: "<=", value: at },
                  { exists: "cancel_requested_at" },
                ],
              },
            ],
          },
          {
            all: [
              { field: "status", is: "=", value: "leased" },
              { field: "lease_expires_at", is: "<", value: lapsedBefore },
            ],
          },
        ],
      },
    ],
  };
}

function updateOf(request: AcquireRequest, at: string): ItemUpdate {
  requireText(request.token, "token");
  requireText(request.owner, "owner");
  return {
    set: {
      status: "leased",
      status_shard: statusShardOf("leased", request.taskId),
      lease_token: request.token,
      lease_seq: 0,
      lease_owner: request.owner.toWellFormed(),
      lease_expires_at: laterTime(request.at, "at", request.leaseMs, "leaseMs"),
      acquired_at: at,
      renewal_count: 0,
      updated_at: at,
    },
    increment: { fence: 1, attempt: 1, attempts_total: 1, delivery_count: 1 },
  };
}

/**
 * A record of a later version may hold what this one cannot read. The lease that was just made is of no use then, and the
 * attempt it spent would be missing to a worker that can: everything but the fence is put back.
 */
async function parseOrGiveBack(
  items: ItemStore,
  request: AcquireRequest,
  { set = {}, increment = {} }: ItemUpdate,
  old: Item,
): Promise<TaskRecord> {
  try {
    return parseRecord(old, request.taskId);
  } catch (error) {
    const before: Record<string, ItemValue> = {};
    const remove: string[] = [];
    for (const field of Object.keys({ ...set, ...increment })) {
      if (field === "fence") continue;
      const value = old[field];
      if (value === undefined) remove.push(field);
      else before[field] = value;
    }
    await items.update(
      taskKey(request.taskId),
      { set: before, remove },
      {
        all: [
          { field: "status", is: "=", value: "leased" },
          { field: "lease_token", is: "=", value: request.token },
          { field: "lease_seq", is: "=", value: 0 },
        ],
      },
    );
    throw error;
  }
}
