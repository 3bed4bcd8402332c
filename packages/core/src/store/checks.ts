import { parseTime } from "../clock.ts";
import { requireCount, requireText, storedTime } from "./arguments.ts";
import type { Condition, ItemStore, ItemUpdate } from "./items.ts";
import { checkPartition, checkShardOf, taskIdOf, taskKey } from "./keys.ts";
import { parseRecord, recordAfter } from "./parse.ts";
import {
  CHECK_SHARDS,
  type DueRequest,
  type DueTask,
  type MoveCheckRequest,
  type OutsideOutcome,
  type Page,
} from "./task-store.ts";

/** Reads keys only: whether a task is lost is for the recovery loop to say. */
export async function dueForCheck(items: ItemStore, request: DueRequest): Promise<Page<DueTask>> {
  requireText(request.queue, "queue");
  requireCount(request.shard % CHECK_SHARDS === request.shard ? request.shard : Number.NaN, "shard", 0);
  const page = await items.query({
    index: "by_check",
    partition: checkPartition(request.queue, request.kind, request.shard),
    upTo: storedTime(request.at, "at"),
    limit: request.limit ?? 100,
    ...(request.cursor === undefined ? {} : { cursor: request.cursor }),
  });
  const due = page.entries.map((entry) => ({ taskId: taskIdOf(entry.key), checkAt: parseTime(entry.sort) }));
  return { items: due, ...(page.cursor === undefined ? {} : { cursor: page.cursor }) };
}

/** Of those who saw a task due, one moves its check. An expiry is counted by that write, once for the fence. */
export async function moveCheck(items: ItemStore, request: MoveCheckRequest): Promise<OutsideOutcome> {
  requireText(request.queue, "queue");
  requireText(request.token, "token");
  const { read } = request;
  const update: ItemUpdate = {
    set: {
      check_at: storedTime(request.checkAt, "checkAt"),
      check_shard: checkShardOf(request.queue, request.kind, request.taskId),
      ...(request.sentAt === undefined ? {} : { sent_at: storedTime(request.sentAt, "sentAt") }),
      ...(request.countExpiry === true ? { expiry_counted: read.fence } : {}),
      write_id: request.token,
      updated_at: storedTime(request.at, "at"),
    },
  };
  const condition: Condition = {
    all: [
      { field: "check_at", is: "=", value: read.check_at },
      { field: "status", is: "=", value: read.status },
      { field: "fence", is: "=", value: read.fence },
    ],
  };
  const outcome = await items.update(taskKey(request.taskId), update, condition);
  if (outcome.old === undefined) return { outcome: "missing" };
  const record = parseRecord(outcome.old, request.taskId);
  if (outcome.applied) return { outcome: "written", record: recordAfter(record, update) };
  return { outcome: record.write_id === request.token ? "written" : "refused", record };
}
