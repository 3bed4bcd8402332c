import { clipBytes } from "../util/json.ts";
import { expiry, laterTime, requireText, storedTime } from "./arguments.ts";
import type { ItemStore } from "./items.ts";
import { checkShardOf } from "./keys.ts";
import { writeFromOutside } from "./outside.ts";
import type { OutsideOutcome, OutsideRequest } from "./task-store.ts";

const MAX_REASON_BYTES = 1_024;

/**
 * A task that nobody works on ends at once. A leased one is asked to, and so is a waiting one with an open effect: a worker
 * must read that back first. It may start now, whatever its `not_before`, and the recovery loop knows of it.
 */
export async function cancel(
  items: ItemStore,
  request: OutsideRequest & { readonly reason: string },
): Promise<OutsideOutcome> {
  requireText(request.reason, "reason", Number.POSITIVE_INFINITY);
  const at = storedTime(request.at, "at");
  return writeFromOutside(items, request, (record) => {
    switch (record.status) {
      case "settled":
      case "dead_lettered":
      case "cancelled":
        return "refused";
      case "leased":
        return record.cancel_requested_at === undefined ? { set: { cancel_requested_at: at } } : "done";
      case "queued":
      case "released":
        if (record.open_effects === 0) break;
        if (record.cancel_requested_at !== undefined) return "done";
        return {
          set: {
            cancel_requested_at: at,
            sent_at: at,
            check_at: laterTime(request.at, "at", request.recoverAfterMs, "recoverAfterMs"),
            check_shard: checkShardOf(record.queue, "waiting", record.task_id),
          },
        };
      case "parked":
        break;
    }
    return {
      set: {
        status: "cancelled",
        end_reason: `cancelled: ${clipBytes(request.reason.toWellFormed(), MAX_REASON_BYTES)}`,
        expire_at: expiry(request.at, request.retentionMs),
      },
      remove: ["check_at", "check_shard", "status_shard"],
      ...(record.status === "parked" ? { payloadExpiry: expiry(request.at, 2 * request.retentionMs) } : {}),
    };
  });
}
