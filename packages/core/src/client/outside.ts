import { parseTime } from "../clock.ts";
import { ringMessage } from "../envelope/message.ts";
import type { Resolution, Status, TaskRecord } from "../record/record.ts";
import type { OutsideRequest } from "../store/task-store.ts";
import { refusal } from "../util/issues.ts";
import { byteLength } from "../util/json.ts";
import { type Moment, momentMs } from "../util/time.ts";
import { type ClientContext, type DeliveryReport, deliver, retried } from "./context.ts";

/** A decision from outside that changed nothing. */
export type Unchanged =
  /** `reason` says why, for a person. */
  { readonly outcome: "refused"; readonly reason: string; readonly task: TaskRecord } | { readonly outcome: "missing" };

export type CancelOutcome =
  | { readonly outcome: "cancelled"; readonly task: TaskRecord }
  /** `by: "holder"`: the worker that has it ends it at its next write. `by: "next"`: an effect is open, so the next worker reads it back, then ends the task. */
  | { readonly outcome: "requested"; readonly by: "holder"; readonly task: TaskRecord }
  | ({ readonly outcome: "requested"; readonly by: "next"; readonly task: TaskRecord } & DeliveryReport)
  | Unchanged;
export type ResumeOutcome = ({ readonly outcome: "resumed"; readonly task: TaskRecord } & DeliveryReport) | Unchanged;
export type ReopenOutcome = ({ readonly outcome: "reopened"; readonly task: TaskRecord } & DeliveryReport) | Unchanged;

export interface CancelOptions {
  /** For the record. Default "cancelled by request". */
  readonly reason?: string | undefined;
}

/** A person's decision on a parked task. */
export interface ResumeOptions {
  /**
   * `retry`: read back, then go on by the guard. `commit-again`: read back, then allow one more commit. `committed`: it was made;
   * read back, or take the word of `by`.
   */
  readonly decision: Resolution["decision"];
  /** The effect that the decision is about, `<name>` or `<name>:<item>`; needed when more than one is open. */
  readonly effect?: string | undefined;
  /** The external system's id of what was made, when the person knows it. */
  readonly externalId?: string | undefined;
  /** Who decides. */
  readonly by: string;
  readonly note?: string | undefined;
  readonly deadline?: Moment | undefined;
}

export interface ReopenOptions {
  /** A new deadline; one that has passed is dropped. */
  readonly deadline?: Moment | undefined;
}

const DECISIONS = ["retry", "commit-again", "committed"] as const satisfies readonly Resolution["decision"][];
const CANCELLABLE: readonly Status[] = ["queued", "released", "leased", "parked"];
const REOPENABLE: readonly Status[] = ["dead_lettered", "parked", "cancelled"];
const MAX_TEXT_BYTES = 1_024;

export async function cancel(context: ClientContext, taskId: string, options: CancelOptions): Promise<CancelOutcome> {
  const reason = options.reason ?? "cancelled by request";
  checkText(reason, "reason");
  const request = { ...outsideRequest(context, taskId), reason };
  const answer = await retried(context, "cancel", () => context.store.cancel(request));
  if (answer.outcome === "missing") return answer;
  const { record } = answer;
  if (answer.outcome === "refused") {
    return {
      outcome: "refused",
      reason: refusedBecause(record, "a waiting, leased or parked", CANCELLABLE),
      task: record,
    };
  }
  if (record.status === "cancelled") return { outcome: "cancelled", task: record };
  if (record.status === "leased") return { outcome: "requested", by: "holder", task: record };
  return { outcome: "requested", by: "next", task: record, ...(await ring(context, record, "cancel_requested")) };
}

export async function resume(context: ClientContext, taskId: string, options: ResumeOptions): Promise<ResumeOutcome> {
  if (!DECISIONS.includes(options?.decision)) {
    throw refusal("decision", options?.decision, `one of ${DECISIONS.map((each) => `"${each}"`).join(", ")}`);
  }
  const { decision, by, effect, externalId, note } = options;
  checkText(by, "by");
  for (const [field, value] of Object.entries({ effect, externalId, note }))
    if (value !== undefined) checkText(value, field);
  const request = {
    ...outsideRequest(context, taskId),
    decision,
    by,
    ...(effect === undefined ? {} : { effect }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(note === undefined ? {} : { note }),
    ...deadlineOf(options),
  };
  const answer = await retried(context, "resume", () => context.store.resume(request));
  if (answer.outcome === "missing") return answer;
  if (answer.outcome === "refused")
    return { outcome: "refused", reason: refusedBecause(answer.record, "a parked", ["parked"]), task: answer.record };
  return { outcome: "resumed", task: answer.record, ...(await ring(context, answer.record, "resumed")) };
}

export async function reopen(context: ClientContext, taskId: string, options: ReopenOptions): Promise<ReopenOutcome> {
  const request = { ...outsideRequest(context, taskId), ...deadlineOf(options) };
  const answer = await retried(context, "reopen", () => context.store.reopen(request));
  if (answer.outcome === "missing") return answer;
  if (answer.outcome === "refused") {
    return {
      outcome: "refused",
      reason: refusedBecause(answer.record, "a dead-lettered, parked or cancelled", REOPENABLE),
      task: answer.record,
    };
  }
  return { outcome: "reopened", task: answer.record, ...(await ring(context, answer.record, "reopened")) };
}

/** The message for a task that was set waiting by the write before it. A task of another queue is rung by that queue's workers. */
async function ring(context: ClientContext, record: TaskRecord, cause: string): Promise<DeliveryReport> {
  if (record.queue !== context.queue.queue) return { delivery: "left_to_recovery" };
  context.telemetry.ring(record.queue, cause);
  const checkAt = record.check_at === undefined ? context.clock.now() : parseTime(record.check_at);
  return deliver(context, ringMessage(record, checkAt));
}

function refusedBecause(record: TaskRecord, expected: string, statuses: readonly Status[]): string {
  if (statuses.includes(record.status)) return "the task changed under the call; read it and decide again";
  return `the task is ${record.status}, expected ${expected} one`;
}

function outsideRequest(context: ClientContext, taskId: string): OutsideRequest {
  const { recoverAfterMs, retentionMs } = context;
  return { taskId, at: context.clock.now(), recoverAfterMs, retentionMs, token: context.entropy.token() };
}

function deadlineOf(options: { readonly deadline?: Moment | undefined }): { readonly deadline?: number } {
  return options.deadline === undefined ? {} : { deadline: momentMs(options.deadline, "deadline") };
}

function checkText(value: unknown, field: string): void {
  if (typeof value === "string" && value !== "" && byteLength(value) <= MAX_TEXT_BYTES) return;
  throw refusal(field, value, `text of 1 to ${MAX_TEXT_BYTES} bytes`);
}
