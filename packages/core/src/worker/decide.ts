import { parseTime } from "../clock.ts";
import type { Delivery } from "../queue/driver.ts";
import type { TaskRecord } from "../record/record.ts";

/**
 * The delivery table: what is done with a delivery when acquire did not give the task, by what the record says. Pure; first
 * match wins. The rows in which acquire succeeds are decided under the lease.
 */
export type RefusedAction =
  | { readonly action: "complete"; readonly duplicate: "settled" | "ended" }
  | {
      readonly action: "dead-letter";
      readonly code: string;
      readonly text: string;
      readonly fence?: number;
      readonly duplicate?: "ended";
    }
  /** A dead letter that a person has put back by hand: the task is reopened, then acquired. */
  | { readonly action: "reopen"; readonly fence: number }
  | { readonly action: "abandon"; readonly delayMs: number; readonly duplicate?: "live_elsewhere" }
  /** Not due for longer than the broker can hold it: recovery rings at the time. */
  | { readonly action: "leave_to_recovery" };

export interface RefusedFacts {
  readonly record: TaskRecord;
  /** What the event asks for; the hash is absent when the event only points at the record. */
  readonly type: string;
  readonly inputHash: string | undefined;
  readonly delivery: Pick<Delivery, "deliveryCount">;
  /** Does the broker keep an order that this delivery is part of? Then it stays in its place, however long that is. */
  readonly ordered: boolean;
  /** The fence stamped on the dead letter that this delivery is. */
  readonly deadLetterFence: number | undefined;
  readonly now: number;
  readonly leaseMs: number;
  readonly maxClockSkewMs: number;
  readonly maxAbandonDelayMs: number;
}

/** The longest that a duplicate of a live task is put away, ms. */
const MAX_DUPLICATE_DELAY_MS = 600_000;
/** When the record changed between acquire and this look: soon again, ms. */
const RACE_DELAY_MS = 1_000;

export function decideRefused(facts: RefusedFacts): RefusedAction {
  const { record, now } = facts;
  if (record.task_type !== facts.type || (facts.inputHash !== undefined && record.input_hash !== facts.inputHash)) {
    const what = record.task_type === facts.type ? "another input" : `the type ${record.task_type}`;
    return {
      action: "dead-letter",
      code: "task_id_conflict",
      text: `task ${record.task_id} exists with ${what}; this event asks for type ${facts.type}. Give each unit of work its own id`,
    };
  }
  switch (record.status) {
    case "settled":
      return { action: "complete", duplicate: "settled" };
    case "dead_lettered":
      if (facts.deadLetterFence === record.fence) return { action: "reopen", fence: record.fence };
      return { action: "dead-letter", ...endReason(record), fence: record.fence, duplicate: "ended" };
    case "cancelled":
    case "parked":
      return { action: "complete", duplicate: "ended" };
    case "leased":
      return decideLeased(facts);
    default:
      return decideNotDue(facts, record.not_before === undefined ? 0 : parseTime(record.not_before) - now);
  }
}

function decideLeased(facts: RefusedFacts): RefusedAction {
  const { record, now } = facts;
  const leftMs =
    (record.lease_expires_at === undefined ? now : parseTime(record.lease_expires_at)) - now + facts.maxClockSkewMs;
  if (leftMs < 0) return { action: "abandon", delayMs: RACE_DELAY_MS };
  const count = Math.max(facts.delivery.deliveryCount ?? 1, 1);
  const delayMs = Math.min(Math.max(leftMs, facts.leaseMs * 2 ** Math.min(count - 1, 20)), MAX_DUPLICATE_DELAY_MS);
  return { action: "abandon", delayMs, duplicate: "live_elsewhere" };
}

function decideNotDue(facts: RefusedFacts, remainingMs: number): RefusedAction {
  if (remainingMs <= 0) return { action: "abandon", delayMs: RACE_DELAY_MS };
  if (facts.ordered || remainingMs <= facts.maxAbandonDelayMs) return { action: "abandon", delayMs: remainingMs };
  return { action: "leave_to_recovery" };
}

/** `<code>: <text>` of a record's end, taken apart. */
export function endReason(record: TaskRecord): { readonly code: string; readonly text: string } {
  const reason = record.end_reason ?? "dead_lettered: no reason was kept";
  const colon = reason.indexOf(": ");
  return colon < 0
    ? { code: "dead_lettered", text: reason }
    : { code: reason.slice(0, colon), text: reason.slice(colon + 2) };
}

/** Events older than retention - this are not run without a record: the record may have been there and expired. */
const RETENTION_RESERVE_MS = 2 * 86_400_000;

/** Is an event without a record too old to be trusted as new? By the earlier of its own time and the broker's. */
export function isExpiredEvent(facts: {
  readonly time?: string;
  readonly sentAt?: number;
  readonly now: number;
  readonly retentionMs: number;
}): boolean {
  const eventTime = facts.time === undefined ? Number.POSITIVE_INFINITY : parseTime(facts.time);
  const made = Math.min(
    Number.isNaN(eventTime) ? Number.POSITIVE_INFINITY : eventTime,
    facts.sentAt ?? Number.POSITIVE_INFINITY,
  );
  return made < facts.now - Math.max(facts.retentionMs - RETENTION_RESERVE_MS, facts.retentionMs / 2);
}
