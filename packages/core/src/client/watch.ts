import { sleep } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import { type Claim, ENDED, type Receipt, type TaskRecord } from "../record/record.ts";
import { parseJson } from "../util/json.ts";
import { type ClientContext, retried } from "./context.ts";

/** How a task came out. `parked` waits for a person and may go on after a resume. */
export type TaskEnd =
  /** `result`: what the handler returned; undefined when it returned nothing. */
  | { readonly outcome: "settled"; readonly result: unknown; readonly receipt: Receipt; readonly task: TaskRecord }
  | { readonly outcome: "dead_lettered" | "cancelled" | "parked"; readonly reason: string; readonly task: TaskRecord };

/** What {@link watch} tells. */
export type TaskUpdate =
  /** `skipped`: how many claims before this one came and went between two looks. */
  | { readonly kind: "claim"; readonly claim: Claim; readonly skipped: number; readonly task: TaskRecord }
  /** The last one. */
  | { readonly kind: "end"; readonly end: TaskEnd };

const POLL_FIRST_MS = 500;
const POLL_CAP_MS = 5_000;

/** The claims of a task, from the last three on, then its end. */
export async function* watch(
  context: ClientContext,
  taskId: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskUpdate, void, undefined> {
  let seen = 0;
  for await (const record of looks(context, taskId, Number.POSITIVE_INFINITY, signal)) {
    yield* newClaims(record, seen);
    seen = record.claim_count;
    const end = await endOf(context, record, signal);
    if (end === undefined) continue;
    yield { kind: "end", end };
    return;
  }
}

/** Waits for the end of a task, at most until `untilMonotonic`. */
export async function waitForEnd(
  context: ClientContext,
  taskId: string,
  untilMonotonic: number,
  signal: AbortSignal | undefined,
): Promise<TaskEnd | { readonly outcome: "timeout"; readonly task: TaskRecord }> {
  let task: TaskRecord | undefined;
  for await (const record of looks(context, taskId, untilMonotonic, signal)) {
    const end = await endOf(context, record, signal);
    if (end !== undefined) return end;
    task = record;
  }
  if (task === undefined) throw missing(taskId);
  return { outcome: "timeout", task };
}

/** Reads the record every 0.5 s, doubling to 5 s while nothing moves, and once more when the time is over. */
async function* looks(
  context: ClientContext,
  taskId: string,
  untilMonotonic: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskRecord, void, undefined> {
  const { clock } = context;
  let lastMark: string | undefined;
  let waitMs = POLL_FIRST_MS;
  for (;;) {
    signal?.throwIfAborted();
    const record = await retried(context, "get", () => context.store.get(taskId), signal);
    if (record === undefined) throw missing(taskId);
    yield record;
    const leftMs = untilMonotonic - clock.monotonic();
    if (leftMs <= 0) return;
    const mark = `${record.status} ${record.fence} ${record.claim_count} ${record.updated_at}`;
    waitMs = mark === lastMark ? Math.min(waitMs * 2, POLL_CAP_MS) : POLL_FIRST_MS;
    lastMark = mark;
    await sleep(clock, Math.min(waitMs, leftMs), signal);
  }
}

/** The record keeps three claims and counts all. */
function* newClaims(record: TaskRecord, seen: number): Generator<TaskUpdate> {
  const fresh = record.claim_count - seen;
  if (fresh <= 0) return;
  const shown = record.last_claims.slice(-fresh);
  let skipped = fresh - shown.length;
  for (const claim of shown) {
    yield { kind: "claim", claim, skipped, task: record };
    skipped = 0;
  }
}

async function endOf(
  context: ClientContext,
  record: TaskRecord,
  signal: AbortSignal | undefined,
): Promise<TaskEnd | undefined> {
  const { status } = record;
  if (status === "settled") return settledEnd(context, record, signal);
  if (!ENDED.has(status)) return undefined;
  return {
    outcome: status as "dead_lettered" | "cancelled" | "parked",
    reason: record.end_reason ?? status,
    task: record,
  };
}

async function settledEnd(
  context: ClientContext,
  record: TaskRecord,
  signal: AbortSignal | undefined,
): Promise<TaskEnd> {
  const text = await retried(context, "read of the result", () => context.store.result(record), signal);
  const parsed = text === undefined ? { value: undefined } : parseJson(text);
  const receipt = record.settlement_receipt;
  if (parsed === undefined || receipt === undefined) {
    const field =
      receipt === undefined
        ? "settlement_receipt: got nothing, expected a receipt"
        : "result: got text that is not JSON";
    throw new LeaseholdError(
      "Unknown",
      `task ${record.task_id}: ${field}; the settled record was changed by something else`,
    );
  }
  return { outcome: "settled", result: parsed.value, receipt, task: record };
}

function missing(taskId: string): LeaseholdError {
  return new LeaseholdError(
    "NotFound",
    `task ${taskId}: no record; expected the id of a task that was enqueued into this store and is not older than its retention`,
  );
}
