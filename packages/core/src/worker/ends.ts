import { formatTime, parseTime } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import type { DeadLetterReason } from "../queue/driver.ts";
import type { TaskRecord } from "../record/record.ts";
import { countOpen } from "../record/stage.ts";
import type { HolderOutcome, HolderState, HolderWrite, Refused } from "../store/task-store.ts";
import { errorText } from "../util/error-text.ts";
import { clipBytes } from "../util/json.ts";
import type { Attempt } from "./attempt.ts";
import { recordFailed, taskReceiptOf } from "./effect-writes.ts";
import type { Effects, OpenOutcome } from "./effects.ts";
import { orderingKeyOf } from "./runtime.ts";

/** What the broker is told once the record says how the lease ended. */
export type BrokerEnd =
  | { readonly verb: "complete" }
  | { readonly verb: "abandon"; readonly delayMs: number }
  | { readonly verb: "dead-letter"; readonly reason: DeadLetterReason; readonly fence: number }
  /** Nothing: the lease is gone, or runs out by itself. */
  | { readonly verb: "lapse" };

/** How a lease ended. */
export interface Ending {
  readonly how: "settled" | "released" | "dead_lettered" | "parked" | "cancelled" | "lost";
  readonly broker: BrokerEnd;
  /** What the attempt failed with, for its span. */
  readonly error?: unknown;
}

export const LAPSE: Ending = { how: "lost", broker: { verb: "lapse" } };

/** Bytes of `last_error` and of the text of an end. */
const ERROR_BYTES = 512;
/** The longest delay that a handler can ask for: ten years, ms. */
const MAX_DELAY_MS = 3_650 * 86_400_000;
/** Releases in a row at which an end could not read an effect back; after them it parks. */
const MAX_UNREAD_RELEASES = 3;
/** How often an attempt is given back. */
const MAX_GIVEN_BACK = 10;

/** Writes an end. The last write of the lease: claims, log and stage go with it. */
async function writeEnd(
  attempt: Attempt,
  how: Ending["how"],
  extra: (record: TaskRecord) => HolderState,
  call: (write: HolderWrite) => Promise<HolderOutcome | Refused>,
): Promise<boolean> {
  const { lease } = attempt;
  attempt.logAttempt({
    attempt: lease.record.attempt,
    fence: lease.fence,
    owner: lease.record.lease_owner ?? attempt.runtime.owner,
    from: lease.record.acquired_at ?? lease.record.updated_at,
    stage: lease.record.stage,
    how,
  });
  const answer = await lease.write({
    doing: how,
    state: (record) => ({ ...attempt.stateWith(record.effects), ...extra(record) }),
    call,
  });
  return answer.outcome === "written";
}

/** Settles. Needs that no effect is open. */
export async function settle(attempt: Attempt, effects: Effects, result: string | undefined): Promise<Ending> {
  const { lease, runtime } = attempt;
  const { clock, settings, store, telemetry } = runtime;
  const receipt = taskReceiptOf(attempt, result);
  const written = await writeEnd(
    attempt,
    "settled",
    () => ({}),
    (write) =>
      store.settle({
        ...write,
        fence: lease.fence,
        receipt,
        retentionMs: settings.retentionMs,
        ...(result === undefined ? {} : { result }),
      }),
  );
  if (!written) {
    throw new LeaseholdError(
      "Conflict",
      `task ${lease.taskId} cannot be settled: ${lease.record.open_effects} of its effects are open`,
    );
  }
  telemetry.remainingAtSettle(attempt.label, lease.remainingMs());
  if (effects.committedMonotonic !== undefined) {
    telemetry.settledAfterCommit(attempt.label, clock.monotonic() - effects.committedMonotonic);
  }
  return { how: "settled", broker: { verb: "complete" } };
}

export interface Release {
  readonly delayMs: number;
  /** For the record and the measure; `undefined`: no error (shutdown, waiting). */
  readonly error?: unknown;
  /** For the measure: `retryable`, `unknown`, `no_progress`, `shutdown`, `key_held`, `unread`. */
  readonly errorClass: string;
  /** The attempt does not count, if it may be given back once more and no effect is open. */
  readonly giveBack?: boolean;
  /** An end could not read an effect back: counted. */
  readonly unread?: boolean;
}

/** Gives the task back at its stage. */
export async function release(attempt: Attempt, options: Release): Promise<Ending> {
  const { lease, runtime } = attempt;
  const { clock, settings, store, telemetry } = runtime;
  const now = clock.now();
  const longestMs = orderingKeyOf(runtime, lease.record) === undefined ? MAX_DELAY_MS : settings.orderHoldMs;
  const holdMs = Math.min(options.delayMs, longestMs);
  const deadline = lease.record.deadline === undefined ? Number.POSITIVE_INFINITY : parseTime(lease.record.deadline);
  // A task that waits past its deadline has its end to come: no later than then.
  const notBefore = Math.max(Math.min(now + holdMs, deadline), now);
  await writeEnd(
    attempt,
    "released",
    (record) => ({
      ...(options.giveBack === true && mayGiveBack(record) ? { attempt: record.attempt - 1 } : {}),
      ...(options.unread === true ? { unread_releases: (record.unread_releases ?? 0) + 1 } : {}),
    }),
    (write) =>
      store.release({
        ...write,
        queue: lease.record.queue,
        notBefore,
        recoverAfterMs: settings.recoverAfterMs,
        ...(options.error === undefined ? {} : { lastError: textOf(options.error) }),
      }),
  );
  telemetry.retried(attempt.label, options.errorClass);
  if (options.error !== undefined) {
    warn(attempt, "an attempt failed; the task goes back", options.errorClass, textOf(options.error));
  }
  return { how: "released", broker: { verb: "abandon", delayMs: notBefore - now }, error: options.error };
}

function mayGiveBack(record: TaskRecord): boolean {
  return (
    record.attempt > 0 &&
    record.attempts_total - (record.attempt - 1) <= MAX_GIVEN_BACK &&
    countOpen(record.effects) === 0
  );
}

/** Gives up, naming what was done. */
export async function deadLetter(
  attempt: Attempt,
  code: string,
  text: string,
  options: { readonly uncounted?: boolean } = {},
): Promise<Ending> {
  const { lease, runtime } = attempt;
  const { settings, store, telemetry } = runtime;
  const full = clipBytes(text + receiptsText(lease.record), ERROR_BYTES);
  await writeEnd(
    attempt,
    "dead_lettered",
    (record) => (options.uncounted === true ? { attempt: Math.max(record.attempt - 1, 0) } : {}),
    (write) =>
      store.deadLetter({ ...write, endReason: `${code}: ${full}`, lastError: full, retentionMs: settings.retentionMs }),
  );
  telemetry.deadLettered(attempt.label, code);
  warn(attempt, "a task was dead-lettered", code, full);
  return { how: "dead_lettered", broker: { verb: "dead-letter", reason: { code, text: full }, fence: lease.fence } };
}

export async function park(attempt: Attempt, code: string, error: unknown): Promise<Ending> {
  const text = textOf(error);
  await writeEnd(
    attempt,
    "parked",
    () => ({}),
    (write) => attempt.runtime.store.park({ ...write, endReason: `${code}: ${text}`, lastError: text }),
  );
  warn(attempt, "a task was parked: a person must look", code, text);
  return { how: "parked", broker: { verb: "complete" }, error };
}

export async function endCancelled(attempt: Attempt, options: { readonly uncounted?: boolean } = {}): Promise<Ending> {
  const { lease, runtime } = attempt;
  const text = `cancelled as asked at ${lease.record.cancel_requested_at ?? formatTime(runtime.clock.now())}${receiptsText(lease.record)}`;
  await writeEnd(
    attempt,
    "cancelled",
    (record) => (options.uncounted === true ? { attempt: Math.max(record.attempt - 1, 0) } : {}),
    (write) =>
      runtime.store.endCancelled({
        ...write,
        endReason: `cancelled: ${clipBytes(text, ERROR_BYTES)}`,
        retentionMs: runtime.settings.retentionMs,
      }),
  );
  return { how: "cancelled", broker: { verb: "complete" } };
}

/**
 * An end that must not leave an effect unread: reads back what is open, then ends. Not found: marked `failed` where a guard
 * allows that, else parked. Not readable: released at its stage, parked after three such releases.
 */
export async function endAfterReadback(
  attempt: Attempt,
  effects: Effects,
  end: () => Promise<Ending>,
): Promise<Ending> {
  await effects.idle();
  const outcomes = countOpen(attempt.lease.record.effects) === 0 ? [] : await effects.resolveOpen("at_end");
  const parked = outcomes.find((outcome) => outcome.is === "park");
  if (parked !== undefined) return park(attempt, "effect_unresolved", parked.error);
  const unsure = outcomes.find((outcome) => outcome.is === "unsure");
  if (unsure !== undefined) return releaseUnread(attempt, unsure);
  for (const outcome of outcomes) {
    if (outcome.is === "absent") await recordFailed(attempt, outcome.slot);
  }
  return end();
}

/** An effect could not be read back: the task goes back at its stage, three times; then a person must look. */
export async function releaseUnread(attempt: Attempt, unsure: OpenOutcome): Promise<Ending> {
  const unread = attempt.lease.record.unread_releases ?? 0;
  if (unread >= MAX_UNREAD_RELEASES) return park(attempt, "effect_unreadable", unsure.error);
  return release(attempt, { delayMs: retryDelayMs(attempt), error: unsure.error, errorClass: "unread", unread: true });
}

/**
 * Back-off with full jitter: between nothing and min(cap, base x 2^(tries - 1)). `tries`: attempts that count, or, for a wait
 * that gives its attempt back, all of them: else it would never grow.
 */
export function retryDelayMs(attempt: Attempt, tries = attempt.lease.record.attempt): number {
  const { task, runtime } = attempt;
  const ceiling = Math.min(task.backoffCapMs, task.backoffBaseMs * 2 ** Math.min(Math.max(tries - 1, 0), 40));
  return Math.round(ceiling * runtime.entropy.random());
}

function warn({ lease, runtime, task }: Attempt, what: string, code: string, reason: string): void {
  const { record } = lease;
  runtime.logger.warn(what, { task_id: record.task_id, task_type: task.type, attempt: record.attempt, code, reason });
}

/** The text of an error, for the record: clipped, never a stack. */
export function textOf(error: unknown): string {
  return clipBytes(errorText(error), ERROR_BYTES);
}

function receiptsText(record: TaskRecord): string {
  const done = Object.entries(record.effects)
    .filter(([, effect]) => effect.receipt !== undefined)
    .map(([slot, effect]) => `${slot} is in ${effect.external_system} as ${effect.receipt?.external_id}`);
  return done.length === 0 ? "" : ` (done before: ${done.join("; ")})`;
}
