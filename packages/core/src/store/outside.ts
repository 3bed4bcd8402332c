import type { TaskRecord } from "../record/record.ts";
import { requireText, storedTime } from "./arguments.ts";
import type { Condition, Item, ItemStore, ItemUpdate, ItemValue } from "./items.ts";
import { taskKey } from "./keys.ts";
import { parseRecord, recordAfter } from "./parse.ts";
import { setPayloadExpiry } from "./payload.ts";
import type { OutsideOutcome, OutsideRequest } from "./task-store.ts";

/** A write that finds the record changed is decided again on what it found, this many times. */
const TRIES = 5;

export interface OutsideChange {
  readonly set: Readonly<Record<string, ItemValue>>;
  readonly remove?: readonly string[];
  /** In epoch seconds: where the payload must live on. Moved first, so that a crash between the two writes loses none. */
  readonly payloadExpiry?: number;
}

/**
 * A write of somebody who holds no lease: made under the status and the fence that were read. `write_id` tells an own write
 * after a lost answer, and, as part of the condition, stops a late repeat of one that was undone since.
 *
 * `decide` says what to write on a record; `"refused"` when it is in no state for that, `"done"` when it stands there already.
 */
export async function writeFromOutside(
  items: ItemStore,
  request: Pick<OutsideRequest, "taskId" | "token" | "at">,
  decide: (record: TaskRecord) => OutsideChange | "refused" | "done",
): Promise<OutsideOutcome> {
  requireText(request.token, "token");
  const at = storedTime(request.at, "at");
  const key = taskKey(request.taskId);
  let item: Item | undefined = await items.get(key);
  for (let tries = 1; ; tries++) {
    if (item === undefined) return { outcome: "missing" };
    const record = parseRecord(item, request.taskId);
    if (record.write_id === request.token) return { outcome: "written", record };
    const change = decide(record);
    if (change === "done") return { outcome: "written", record };
    if (change === "refused" || tries > TRIES) return { outcome: "refused", record };
    if (change.payloadExpiry !== undefined) await setPayloadExpiry(items, record, change.payloadExpiry);
    const update: ItemUpdate = {
      set: { ...change.set, write_id: request.token, updated_at: at },
      ...(change.remove === undefined ? {} : { remove: change.remove }),
    };
    const outcome = await items.update(key, update, unchanged(record));
    if (outcome.applied) {
      // Under the same status and fence a holder may have written meanwhile.
      const before = outcome.old === undefined ? record : parseRecord(outcome.old, request.taskId);
      return { outcome: "written", record: recordAfter(before, update) };
    }
    item = outcome.old;
  }
}

function unchanged(record: TaskRecord): Condition {
  return {
    all: [
      { field: "status", is: "=", value: record.status },
      { field: "fence", is: "=", value: record.fence },
      record.write_id === undefined ? { absent: "write_id" } : { field: "write_id", is: "=", value: record.write_id },
    ],
  };
}
