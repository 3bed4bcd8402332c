import { formatTime } from "../clock.ts";
import type { EffectState, Receipt, TaskRecord } from "../record/record.ts";
import type { Verified } from "../task/define.ts";
import { errorText } from "../util/error-text.ts";
import { canonicalJson, clipBytes, sha256Hex } from "../util/json.ts";

/** Bytes of an external id, of a status, of the details. Longer ones are clipped with a mark: nothing is refused after a commit. */
const EXTERNAL_ID_BYTES = 512;
const STATUS_BYTES = 64;
const DETAILS_BYTES = 1_024;

export function clipExternalId(id: string): string {
  return clipBytes(String(id), EXTERNAL_ID_BYTES);
}

export interface ReceiptFacts {
  readonly record: TaskRecord;
  readonly effect: EffectState;
  readonly verified: Verified;
  /** `answer`, or the person who vouches; absent: it was read back. */
  readonly verifiedBy?: string;
  readonly now: number;
}

export function effectReceipt(facts: ReceiptFacts): Receipt {
  const { record, effect, verified, verifiedBy } = facts;
  return {
    task_id: record.task_id,
    stage: "verify",
    external_system: effect.external_system,
    external_id: clipExternalId(verified.externalId),
    status: clipBytes(String(verified.status), STATUS_BYTES),
    idempotency_key: effect.key,
    verified_at: formatTime(facts.now),
    ...(record.trace_id === undefined ? {} : { trace_id: record.trace_id }),
    ...(verifiedBy === undefined ? {} : { verified_by: verifiedBy }),
    ...(verified.details === undefined ? {} : { details: clipBytes(detailsText(verified.details), DETAILS_BYTES) }),
  };
}

function detailsText(details: unknown): string {
  try {
    return canonicalJson(details, "details");
  } catch (error) {
    // After a commit nothing is refused: the receipt says why there are none.
    return `[not kept: ${errorText(error)}]`;
  }
}

/**
 * The receipt of the whole task: of the effect that `receiptFrom` names, else of the only one, else of the last; without
 * effects the hash of the result.
 */
export function taskReceipt(
  record: TaskRecord,
  receiptFrom: string | undefined,
  result: string | undefined,
  now: number,
): Receipt {
  const receipts = Object.entries(record.effects)
    .filter(([, effect]) => effect.receipt !== undefined)
    .map(([slot, effect]) => ({ slot, receipt: effect.receipt as Receipt }))
    .sort((left, right) =>
      left.receipt.verified_at < right.receipt.verified_at
        ? -1
        : left.receipt.verified_at > right.receipt.verified_at
          ? 1
          : 0,
    );
  const named = receipts.filter(({ slot }) => receiptFrom !== undefined && effectNameOf(slot) === receiptFrom);
  const chosen = named.at(-1) ?? receipts.at(-1);
  if (chosen !== undefined) return { ...chosen.receipt, stage: "settled" };
  return {
    task_id: record.task_id,
    stage: "settled",
    external_system: "none",
    external_id: sha256Hex(result ?? "null"),
    status: "recorded",
    idempotency_key: record.idempotency_key,
    verified_at: formatTime(now),
    ...(record.trace_id === undefined ? {} : { trace_id: record.trace_id }),
  };
}

/** `publish:12` -> `publish`. */
export function effectNameOf(slot: string): string {
  const colon = slot.indexOf(":");
  return colon < 0 ? slot : slot.slice(0, colon);
}
