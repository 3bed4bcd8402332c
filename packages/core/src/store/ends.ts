import { MAX_INPUT_BYTES } from "../envelope/envelope.ts";
import { LeaseholdError } from "../errors.ts";
import { kindOf } from "../util/issues.ts";
import { byteLength, clipBytes } from "../util/json.ts";
import { expiry, laterTime, refuse, requireCount, requireText, storedTime } from "./arguments.ts";
import { judge, writeAsHolder, writePlainly } from "./holder-write.ts";
import type { Item, ItemStore, ItemValue } from "./items.ts";
import { checkShardOf, resultKey, statusShardOf, taskKey } from "./keys.ts";
import { storedReceipt } from "./parse.ts";
import { setPayloadExpiry } from "./payload.ts";
import type { EndFields, HolderOutcome, HolderWrite, Refused, ReleaseFields, SettleFields } from "./task-store.ts";

/** A result of at most this many bytes stands in the record. */
const INLINE_RESULT_BYTES = 1_024;
/** Reasons and errors are cut to this many bytes. */
const MAX_REASON_BYTES = 4_096;

/** Fields that only a task with work to come has. */
const OF_WORK = ["check_at", "check_shard"] as const;

export async function settle(items: ItemStore, write: HolderWrite & SettleFields): Promise<HolderOutcome | Refused> {
  const { ref, inline } = await placeResult(items, write);
  return writeAsHolder(items, write, {
    set: {
      status: "settled",
      stage: "settled",
      settlement_receipt: storedReceipt(write.receipt),
      ...(inline === undefined ? {} : { result: inline }),
      ...(ref === undefined ? {} : { result_ref: ref }),
      settled_at: storedTime(write.at, "at"),
      expire_at: expiry(write.at, write.retentionMs),
    },
    remove: [...OF_WORK, "status_shard", "cancel_requested_at"],
    extra: { field: "open_effects", is: "=", value: 0 },
  });
}

/**
 * A large result is an item of its own, written before the record that names it and never replaced while its lease can be
 * alive. An item of another lease under this key is left from an earlier life of the task id, whose record has expired.
 */
async function placeResult(
  items: ItemStore,
  write: HolderWrite & SettleFields,
): Promise<{ readonly inline?: string; readonly ref?: string }> {
  const { result } = write;
  if (result === undefined) return {};
  if (typeof result !== "string") throw refuse("result", typeof result, "JSON text");
  const text = result.toWellFormed();
  const size = byteLength(text);
  if (size <= INLINE_RESULT_BYTES) return { inline: text };
  if (size > MAX_INPUT_BYTES) {
    throw new LeaseholdError(
      "PayloadTooLarge",
      `result: ${size} bytes, at most ${MAX_INPUT_BYTES} can be stored; keep it elsewhere and return a reference`,
      {
        details: { limit: MAX_INPUT_BYTES, size },
      },
    );
  }
  requireCount(write.fence, "fence", 1);
  const ref = resultKey(write.taskId, write.fence);
  const item: Item = { text, lease_token: write.token, expire_at: expiry(write.at, 2 * write.retentionMs) };
  const placed = await items.put(ref, item, {
    any: [{ absent: "lease_token" }, { field: "lease_token", is: "<>", value: write.token }],
  });
  if (!placed.applied && placed.old?.["text"] !== text) {
    throw new LeaseholdError(
      "Conflict",
      `settle of task ${write.taskId}: this lease has stored another result before; repeat the call with the first one`,
    );
  }
  return { ref };
}

export async function release(items: ItemStore, write: HolderWrite & ReleaseFields): Promise<HolderOutcome> {
  requireText(write.queue, "queue");
  const notBefore = storedTime(write.notBefore, "notBefore");
  return writePlainly(items, write, {
    set: {
      status: "released",
      status_shard: statusShardOf("released", write.taskId),
      not_before: notBefore,
      sent_at: notBefore,
      check_at: laterTime(write.notBefore, "notBefore", write.recoverAfterMs, "recoverAfterMs"),
      check_shard: checkShardOf(write.queue, "waiting", write.taskId),
      ...lastError(write),
    },
    ...(write.lastError === undefined ? { remove: ["last_error"] } : {}),
  });
}

export async function deadLetter(items: ItemStore, write: HolderWrite & EndFields): Promise<HolderOutcome> {
  const change = {
    set: {
      status: "dead_lettered",
      status_shard: statusShardOf("dead_lettered", write.taskId),
      ...endReason(write),
      expire_at: expiry(write.at, write.retentionMs),
    },
    remove: [...OF_WORK, "cancel_requested_at"],
  };
  return endWithPayload(items, write, expiry(write.at, 2 * write.retentionMs), change);
}

export async function park(
  items: ItemStore,
  write: HolderWrite & Pick<EndFields, "endReason" | "lastError">,
): Promise<HolderOutcome> {
  const change = {
    set: { status: "parked", status_shard: statusShardOf("parked", write.taskId), ...endReason(write) },
    remove: OF_WORK,
  };
  return endWithPayload(items, write, undefined, change);
}

export async function endCancelled(items: ItemStore, write: HolderWrite & EndFields): Promise<HolderOutcome> {
  return writePlainly(items, write, {
    set: { status: "cancelled", ...endReason(write), expire_at: expiry(write.at, write.retentionMs) },
    remove: [...OF_WORK, "status_shard"],
  });
}

/**
 * An end after which the payload must live on: its expiry is moved first, so that a crash between the two writes keeps a
 * payload too long and never loses one.
 */
async function endWithPayload(
  items: ItemStore,
  write: HolderWrite,
  payloadExpiry: number | undefined,
  change: { readonly set: Readonly<Record<string, ItemValue>>; readonly remove: readonly string[] },
): Promise<HolderOutcome> {
  const item = await items.get(taskKey(write.taskId));
  const standing = judge(write, item, true);
  if (standing.outcome !== "refused") return standing;
  await setPayloadExpiry(items, standing.record, payloadExpiry);
  return writePlainly(items, write, change);
}

function endReason(write: Pick<EndFields, "endReason" | "lastError">): Record<string, ItemValue> {
  if (typeof write.endReason !== "string" || write.endReason === "")
    throw refuse("endReason", kindOf(write.endReason), "`<code>: <text>`");
  return { end_reason: clipped(write.endReason), ...lastError(write) };
}

function lastError(write: { readonly lastError?: string }): Record<string, ItemValue> {
  return write.lastError === undefined ? {} : { last_error: clipped(write.lastError) };
}

function clipped(text: string): string {
  return clipBytes(text.toWellFormed(), MAX_REASON_BYTES);
}
