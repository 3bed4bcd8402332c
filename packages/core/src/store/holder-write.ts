import { LeaseholdError } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import { laterTime, requireCount, storedTime } from "./arguments.ts";
import type { Condition, Item, ItemStore, ItemUpdate, ItemValue } from "./items.ts";
import { taskKey } from "./keys.ts";
import { amended, parseRecord, storedState } from "./parse.ts";
import type { HolderOutcome, HolderWrite, Refused } from "./task-store.ts";

/** What a verb adds to the state that the holder gives. */
export interface HolderChange {
  readonly set: Readonly<Record<string, ItemValue>>;
  readonly remove?: readonly string[];
  /** Beside the lease itself: when it fails under a live lease, the write is refused. */
  readonly extra?: Condition;
}

/**
 * A write of the lease's holder: it lands only under the token of the lease and after all writes with a lower number.
 * All values are absolute, so that a repeat changes nothing.
 */
export async function writeAsHolder(
  items: ItemStore,
  write: HolderWrite,
  change: HolderChange,
): Promise<HolderOutcome | Refused> {
  const update = updateOf(write, change);
  const outcome = await items.update(taskKey(write.taskId), update, conditionOf(write, change.extra));
  if (!outcome.applied) return judge(write, outcome.old, change.extra !== undefined);
  if (outcome.old === undefined) {
    throw new LeaseholdError(
      "Unknown",
      `write ${write.seq} of task ${write.taskId}: applied, and the record before it did not come back`,
    );
  }
  return { outcome: "written", record: amended(parseRecord(outcome.old, write.taskId), update) };
}

/** As {@link writeAsHolder}, for a write that only the loss of the lease can stop. */
export async function writePlainly(
  items: ItemStore,
  write: HolderWrite,
  change: Omit<HolderChange, "extra">,
): Promise<HolderOutcome> {
  const outcome = await writeAsHolder(items, write, change);
  return outcome.outcome === "refused" ? { outcome: "lost", record: outcome.record } : outcome;
}

/** A full new lease. */
export function renewal(write: HolderWrite & { readonly leaseMs: number }): Record<string, ItemValue> {
  return { lease_expires_at: laterTime(write.at, "at", write.leaseMs, "leaseMs") };
}

/**
 * What the record says about a write of ours that did not land. Our token with exactly our number: it had landed before, and
 * the answer was lost. Our token in a live lease with a lower number: a condition of the verb itself failed.
 * Anything else: the lease is gone.
 */
export function judge(write: HolderWrite, item: Item | undefined, refusable: boolean): HolderOutcome | Refused {
  if (item === undefined) return { outcome: "lost" };
  if (item["lease_token"] === write.token) {
    const seq = item["lease_seq"];
    if (seq === write.seq) return { outcome: "written", record: parseRecord(item, write.taskId) };
    if (refusable && item["status"] === "leased" && typeof seq === "number" && seq < write.seq) {
      return { outcome: "refused", record: parseRecord(item, write.taskId) };
    }
  }
  const record = readable(item, write.taskId);
  return record === undefined ? { outcome: "lost" } : { outcome: "lost", record };
}

/** That a lease is lost is certain, whatever the record holds now: it is shown where it can be read. */
function readable(item: Item, taskId: string): TaskRecord | undefined {
  try {
    return parseRecord(item, taskId);
  } catch {
    return undefined;
  }
}

function conditionOf(write: HolderWrite, extra: Condition | undefined): Condition {
  requireCount(write.seq, "seq", 1);
  return {
    all: [
      { field: "status", is: "=", value: "leased" },
      { field: "lease_token", is: "=", value: write.token },
      { field: "lease_seq", is: "<", value: write.seq },
      ...(extra === undefined ? [] : [extra]),
    ],
  };
}

function updateOf(write: HolderWrite, change: HolderChange): ItemUpdate {
  return {
    set: {
      ...(write.state === undefined ? undefined : storedState(write.state)),
      ...change.set,
      lease_seq: write.seq,
      updated_at: storedTime(write.at, "at"),
    },
    ...(change.remove === undefined ? {} : { remove: change.remove }),
  };
}
