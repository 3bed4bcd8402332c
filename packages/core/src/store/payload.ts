import type { TaskRecord } from "../record/record.ts";
import type { ItemStore } from "./items.ts";
import { isPayloadKey } from "./keys.ts";
import { textOf } from "./parse.ts";

/** The input that a record points to; `undefined` when it is gone, or is no payload of this task. */
export async function payload(items: ItemStore, taskId: string, payloadRef: string): Promise<string | undefined> {
  if (!isPayloadKey(payloadRef, taskId)) return undefined;
  const item = await items.get(payloadRef);
  return item === undefined ? undefined : textOf(item, payloadRef);
}

/** The result of a task: only the one that its record names counts, and only a settled record names one. */
export async function result(items: ItemStore, record: TaskRecord): Promise<string | undefined> {
  if (record.result_ref === undefined) return record.result;
  const item = await items.get(record.result_ref);
  return item === undefined ? undefined : textOf(item, record.result_ref);
}

/** Moves the expiry of a task's payload, in epoch seconds; `undefined` removes it. A payload that is gone stays gone. */
export async function setPayloadExpiry(
  items: ItemStore,
  record: TaskRecord,
  expireAt: number | undefined,
): Promise<void> {
  const update = expireAt === undefined ? { remove: ["expire_at"] } : { set: { expire_at: expireAt } };
  await items.update(record.payload_ref, update, { exists: "text" });
}
