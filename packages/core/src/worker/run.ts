import { context } from "@opentelemetry/api";
import { MAX_INPUT_BYTES } from "../envelope/envelope.ts";
import { fromUnknown, isLeaseholdError, ParkError, RetryableError, verdictOf } from "../errors.ts";
import type { Receipt, TaskRecord } from "../record/record.ts";
import { countOpen } from "../record/stage.ts";
import type { ClaimRequest, EffectDefinition, PreviousAttempt, TaskContext } from "../task/define.ts";
import { errorTypeOf } from "../telemetry/error-type.ts";
import type { Attempt } from "./attempt.ts";
import { createEffects, type Effects } from "./effects.ts";
import {
  deadLetter,
  type Ending,
  endAfterReadback,
  endCancelled,
  LAPSE,
  park,
  release,
  retryDelayMs,
  settle,
  textOf,
} from "./ends.ts";
import { type InputSource, prepare, settleBy } from "./prepare.ts";
import { resultText } from "./result-text.ts";

/** How the handler came out. `cutoff`: it still runs, and the last moment to write an end has come. */
type Outcome =
  | { readonly is: "returned"; readonly value: unknown }
  | { readonly is: "threw"; readonly error: unknown }
  | { readonly is: "cutoff" };

export interface RunResult {
  readonly ending: Ending;
  /** Code of the task runs on: its handler, a readback, a schema. */
  readonly stillRuns: () => boolean;
  /** Resolves when the handler has ended, which may be long after the lease. */
  readonly handlerEnded: Promise<void>;
}

/**
 * Runs one attempt: retry rule, handler, end. Never rejects: what goes wrong outside the handler leaves the lease to lapse,
 * and is logged.
 */
export async function runAttempt(
  attempt: Attempt,
  source: InputSource,
  previous: TaskRecord | undefined,
  onHandler: (running: boolean) => void,
): Promise<RunResult> {
  const { lease } = attempt;
  let handlerEnded: Promise<void> = Promise.resolve();
  let handlerRuns = false;
  const work = async (): Promise<Ending> => {
    const effects = createEffects(attempt);
    const prepared = await prepare(attempt, effects, source);
    if (!prepared.run) return prepared.ending;
    // Payload and readbacks may have taken longer than the lease, and somebody may have cancelled meanwhile.
    attempt.lease.assertLive();
    if (attempt.lease.signal.aborted)
      return conclude(attempt, effects, { is: "threw", error: attempt.lease.signal.reason });
    const handler = startHandler(attempt, effects, prepared.input, previous);
    handlerRuns = true;
    onHandler(true);
    // A handler has ended when its effects have, awaited or not.
    const finished = handler.then(async () => {
      await effects.idle();
      effects.close();
    });
    handlerEnded = finished.then(() => {
      handlerRuns = false;
      onHandler(false);
    });
    const stopped = Promise.race([attempt.cutoff, lease.gone]).then((): Outcome => ({ is: "cutoff" }));
    const outcome = await Promise.race([finished.then(() => handler), stopped]);
    return conclude(attempt, effects, outcome);
  };
  const ending = work().catch((error: unknown): Ending => {
    if (!isLeaseholdError(error, "LeaseLost")) {
      attempt.runtime.logger.error("an attempt could not be ended; its lease runs out", {
        task_id: lease.taskId,
        error: fromUnknown(error, "attempt").message,
      });
    }
    // Nobody works on it any more: floating code must not keep it.
    lease.lose("expired");
    return LAPSE;
  });
  let working = true;
  const workEnded = ending.then(() => {
    working = false;
  });
  // What hangs (a readback that ignores its signal) holds the slot, never the task: that is over when the lease is.
  const first = await Promise.race([ending, lease.gone.then(() => LAPSE)]);
  return { ending: first, stillRuns: () => working || handlerRuns, handlerEnded: workEnded.then(() => handlerEnded) };
}

function startHandler(
  attempt: Attempt,
  effects: Effects,
  input: unknown,
  previous: TaskRecord | undefined,
): Promise<Outcome> {
  const { task, span } = attempt;
  const taskContext = createTaskContext(attempt, effects, input, previous);
  return context.with(span.context, async (): Promise<Outcome> => {
    try {
      return { is: "returned", value: await task.definition.run(taskContext) };
    } catch (error) {
      return { is: "threw", error };
    }
  });
}

function createTaskContext(
  attempt: Attempt,
  effects: Effects,
  input: unknown,
  previous: TaskRecord | undefined,
): TaskContext<unknown> {
  const { lease, claims, task, runtime, label } = attempt;
  const { record } = lease;
  return {
    id: lease.taskId,
    type: task.type,
    input,
    agentRunId: record.agent_run_id,
    attempt: record.attempt,
    fence: lease.fence,
    idempotencyKey: record.idempotency_key,
    signal: lease.signal,
    previous: previousAttempt(previous, record),
    resolution: record.resolution,
    renew: handled(async (request: ClaimRequest) => {
      // After a stall the budget may have passed although no timer has fired yet: decide by time (JS-02).
      attempt.watch.look();
      if (lease.signal.aborted) throw lease.signal.reason;
      lease.assertLive();
      const note = claims.note(request);
      if (note.vague) {
        runtime.telemetry.vagueClaim(label, request.stage, request.reason ?? "");
      }
      attempt.rewatch();
      if (note.urgent) await attempt.renew();
    }),
    effect: handled((definition: EffectDefinition, effectInput: unknown, options?: { readonly item?: string }) =>
      effects.run(definition, effectInput, options?.item),
    ) as TaskContext<unknown>["effect"],
  };
}

/** A promise that the handler lets be must not end the process when it rejects (JS-06). */
function handled<A extends unknown[], T>(call: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
  return (...args) => {
    const promise = call(...args);
    promise.catch(() => undefined);
    return promise;
  };
}

function previousAttempt(previous: TaskRecord | undefined, record: TaskRecord): PreviousAttempt | undefined {
  if (record.attempts_total <= 1) return undefined;
  const before = previous ?? record;
  const receipts: Record<string, Receipt> = {};
  for (const [slot, effect] of Object.entries(record.effects)) {
    if (effect.receipt !== undefined) receipts[slot] = effect.receipt;
  }
  return {
    stage: before.stage,
    claims: before.last_claims,
    receipts,
    ...(before.last_error === undefined ? {} : { error: before.last_error }),
  };
}

/** The end that the design's tables name for how the handler came out. */
async function conclude(attempt: Attempt, effects: Effects, outcome: Outcome): Promise<Ending> {
  const { lease } = attempt;
  if (lease.lost) return LAPSE;
  lease.assertLive();
  if (outcome.is === "cutoff") effects.close();
  const open = countOpen(lease.record.effects) > 0 || effects.busy;
  if (outcome.is === "returned" && !open) return settleWith(attempt, effects, outcome.value);
  if (lease.abortReason !== undefined) return concludeAborted(attempt, effects, outcome, open);
  if (outcome.is === "returned") return concludeReturned(attempt, effects, outcome.value);
  return concludeThrown(attempt, effects, outcome.is === "threw" ? outcome.error : undefined, open);
}

/** After an abort the reason decides, not the error that the handler throws. */
async function concludeAborted(attempt: Attempt, effects: Effects, outcome: Outcome, open: boolean): Promise<Ending> {
  const { lease } = attempt;
  // An effect under way cannot be read back past the cutoff: nothing is written, not by a late answer either.
  if (outcome.is === "cutoff" && open) {
    lease.lose("no_progress");
    return LAPSE;
  }
  switch (lease.abortReason) {
    case "cancelled":
      return endAfterReadback(attempt, effects, () => endCancelled(attempt));
    case "deadline":
      return endAfterReadback(attempt, effects, () =>
        deadLetter(attempt, "deadline_passed", `the deadline ${lease.record.deadline} passed while the task ran`),
      );
    case "shutdown":
      return release(attempt, { delayMs: 0, errorClass: "shutdown", giveBack: true });
    case "taken_over":
    case "expired":
      // The record is still ours, the order of the key is not.
      return release(attempt, {
        delayMs: 0,
        error: new RetryableError("the broker's lease on the ordering key was lost"),
        errorClass: "order_lost",
      });
    default:
      return release(attempt, {
        delayMs: retryDelayMs(attempt),
        error: new RetryableError(`no progress: nothing was claimed within the budget of ${lease.record.stage}`),
        errorClass: "no_progress",
      });
  }
}

/** Returned with an open effect: an effect that failed and was let be. It is read back; verified, the task settles. */
async function concludeReturned(attempt: Attempt, effects: Effects, value: unknown): Promise<Ending> {
  const outcomes = await effects.resolveOpen("at_end");
  const parked = outcomes.find((outcome) => outcome.is === "park");
  if (parked !== undefined) return park(attempt, "effect_unresolved", parked.error);
  const unresolved = outcomes.find((outcome) => outcome.is !== "verified");
  if (unresolved === undefined) return settleWith(attempt, effects, value);
  return release(attempt, {
    delayMs: retryDelayMs(attempt),
    error: unresolved.error ?? new RetryableError(`effect ${unresolved.slot} was begun and is not there`),
    errorClass: "open_effect",
  });
}

async function concludeThrown(attempt: Attempt, effects: Effects, error: unknown, open: boolean): Promise<Ending> {
  const { task, lease } = attempt;
  const verdict = verdictOf(error);
  if (effects.waitedForKey && verdict !== "park" && verdict !== "permanent")
    return release(attempt, {
      delayMs: retryDelayMs(attempt, lease.record.attempts_total),
      error,
      errorClass: "key_held",
      giveBack: true,
    });
  if (verdict === "park") return park(attempt, "parked", error);
  if (verdict === "permanent")
    return endAfterReadback(attempt, effects, () => deadLetter(attempt, "permanent_error", textOf(error)));
  if (open) {
    const outcomes = await effects.resolveOpen("at_end");
    const parked = outcomes.find((outcome) => outcome.is === "park");
    if (parked !== undefined) return park(attempt, "effect_unresolved", parked.error);
  }
  if (lease.record.attempt >= task.attempts) {
    if (countOpen(lease.record.effects) > 0) {
      return park(
        attempt,
        "attempts_exhausted",
        new ParkError(
          `${task.attempts} attempts are used up and an effect is open; the last error was: ${textOf(error)}`,
        ),
      );
    }
    const settled = await settleBy(attempt, effects);
    if (settled !== undefined) return settled;
    return deadLetter(
      attempt,
      "attempts_exhausted",
      `${task.attempts} attempts are used up; the last error was: ${textOf(error)}`,
    );
  }
  const retryAfterMs =
    error instanceof RetryableError || verdict === "retryable" ? (error as RetryableError).retryAfterMs : undefined;
  return release(attempt, {
    delayMs: Number.isFinite(retryAfterMs) ? Math.max(retryAfterMs as number, 0) : retryDelayMs(attempt),
    error,
    errorClass: verdict ?? errorTypeOf(error),
  });
}

async function settleWith(attempt: Attempt, effects: Effects, value: unknown): Promise<Ending> {
  let result: string | undefined;
  try {
    result = resultText(value, MAX_INPUT_BYTES);
  } catch (error) {
    return deadLetter(attempt, "invalid_result", `the handler returned what cannot be kept: ${textOf(error)}`);
  }
  return settle(attempt, effects, result);
}
