import { z } from "zod";
import { LeaseholdError } from "../errors.ts";
import { type Receipt, receiptSchema, type TaskRecord, taskRecordSchema } from "../record/record.ts";
import { countOpen } from "../record/stage.ts";
import { describeIssues } from "../util/issues.ts";
import { applyUpdate } from "./apply.ts";
import { refuse } from "./arguments.ts";
import type { Item, ItemUpdate, ItemValue } from "./items.ts";
import { storable } from "./storable.ts";
import type { HolderState } from "./task-store.ts";

const STATE_FIELDS = {
  stage: true,
  last_claims: true,
  claim_count: true,
  renewal_count: true,
  effects: true,
  open_effects: true,
  attempts: true,
  attempt: true,
  settlement_receipt: true,
  unread_releases: true,
} as const satisfies Record<keyof HolderState, true>;

/** The schemas as generated code: this is on the path of every verb, and three times as fast. Made when first needed. */
let compiled: ReturnType<typeof compile> | undefined;

function compile() {
  return {
    record: z.compile(taskRecordSchema),
    state: z.compile(taskRecordSchema.pick(STATE_FIELDS).partial().strict()),
    receipt: z.compile(receiptSchema),
  };
}

function schemas(): ReturnType<typeof compile> {
  compiled ??= compile();
  return compiled;
}

/** Reads a record. Throws `Unknown` naming the task and the field when it does not parse. */
export function parseRecord(item: Item, taskId: string): TaskRecord {
  const parsed = schemas().record.safeParse(item);
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path.map(String).join(".") ?? "";
  throw new LeaseholdError(
    "Unknown",
    `the record of task ${taskId} does not parse: ${describeIssues(parsed.error, item, "")}; it was written by another version, or by something else`,
    { details: { task_id: taskId, field } },
  );
}

/** The record after an update that was made on exactly this one. */
export function recordAfter(record: TaskRecord, update: ItemUpdate): TaskRecord {
  return applyUpdate(record as Item, update) as TaskRecord;
}

/** As {@link recordAfter}, for a record that was parsed for this answer: changed in place, because another copy would be a fifth of a renewal's cost. */
export function amended(record: TaskRecord, update: Pick<ItemUpdate, "set" | "remove">): TaskRecord {
  const fields = record as Record<string, ItemValue>;
  for (const field in update.set) fields[field] = update.set[field] as ItemValue;
  for (const field of update.remove ?? []) delete fields[field];
  return record;
}

/** What a holder computed, as it is stored. Throws `InvalidArgument` naming the field when it would make a record that does not parse. */
export function storedState(state: HolderState): Record<string, ItemValue> {
  const stored = storable(state, "state") as Record<string, ItemValue>;
  const parsed = schemas().state.safeParse(stored);
  if (!parsed.success) throw new LeaseholdError("InvalidArgument", describeIssues(parsed.error, stored, "state"));
  const { effects, open_effects } = state;
  if (effects !== undefined || open_effects !== undefined) {
    const open = effects === undefined ? undefined : countOpen(effects);
    if (open !== open_effects) {
      throw refuse(
        "state.open_effects",
        String(open_effects),
        `${open}, what is open in state.effects; the two are written together`,
      );
    }
  }
  return stored;
}

/** A receipt, as it is stored. */
export function storedReceipt(receipt: Receipt): ItemValue {
  const stored = storable(receipt, "receipt");
  const parsed = schemas().receipt.safeParse(stored);
  if (parsed.success) return stored;
  throw new LeaseholdError("InvalidArgument", describeIssues(parsed.error, stored, "receipt"));
}

/** The text member of a payload or result item. */
export function textOf(item: Item, key: string): string {
  const text = item["text"];
  if (typeof text === "string") return text;
  throw new LeaseholdError("Unknown", `item ${key}: text: expected text; it was written by something else`, {
    details: { field: "text" },
  });
}
