import { loadInput } from "../client/payload-store.ts";
import { parseTime } from "../clock.ts";
import { ParkError } from "../errors.ts";
import { countOpen } from "../record/stage.ts";
import { errorText } from "../util/error-text.ts";
import { describeIssues } from "../util/issues.ts";
import { canonicalJson, parseJson } from "../util/json.ts";
import type { Attempt } from "./attempt.ts";
import type { Effects } from "./effects.ts";
import {
  deadLetter,
  type Ending,
  endAfterReadback,
  endCancelled,
  park,
  release,
  releaseUnread,
  retryDelayMs,
  settle,
} from "./ends.ts";
import { whileLive } from "./while-live.ts";

/** Either the handler runs with this input, or the lease has ended without it. */
export type Prepared =
  | { readonly run: true; readonly input: unknown }
  | { readonly run: false; readonly ending: Ending };

/** The JSON text of the input, when the event brought it. */
export interface InputSource {
  readonly text?: string;
}

/**
 * What comes between acquire and the handler: ends that are due without running, the payload, and the retry rule of the
 * stage where the last attempt stopped.
 */
export async function prepare(attempt: Attempt, effects: Effects, source: InputSource): Promise<Prepared> {
  const { lease, runtime, task } = attempt;
  const { record } = lease;
  if (record.cancel_requested_at !== undefined) {
    return ended(await endAfterReadback(attempt, effects, () => endCancelled(attempt, { uncounted: true })));
  }
  if (record.deadline !== undefined && runtime.clock.now() >= parseTime(record.deadline)) {
    return ended(
      await endAfterReadback(attempt, effects, () =>
        deadLetter(attempt, "deadline_passed", `the deadline ${record.deadline} passed before the task was done`, {
          uncounted: true,
        }),
      ),
    );
  }
  if (record.attempt > task.attempts) return ended(await endExhausted(attempt, effects));

  const text = source.text ?? (await loadPayload(attempt));
  if (text === undefined) return ended(await endWithoutPayload(attempt));
  const input = await parseInput(attempt, text);
  if (!input.ok)
    return ended(await endAfterReadback(attempt, effects, () => deadLetter(attempt, "invalid_input", input.reason)));

  const ending = await applyRetryRule(attempt, effects);
  if (ending !== undefined) return ended(ending);
  attempt.claims.startRun();
  attempt.rewatch();
  return { run: true, input: input.value };
}

function ended(ending: Ending): Prepared {
  return { run: false, ending };
}

/** Attempts used up: dead-letter without running; an open effect is read back first, and parks unless it is verified. */
async function endExhausted(attempt: Attempt, effects: Effects): Promise<Ending> {
  const { lease, task } = attempt;
  const outcomes = countOpen(lease.record.effects) === 0 ? [] : await effects.resolveOpen("at_end");
  const open = outcomes.find((outcome) => outcome.is !== "verified");
  if (open !== undefined) {
    return park(
      attempt,
      "attempts_exhausted",
      new ParkError(`${task.attempts} attempts are used up and effect ${open.slot} is open`, { cause: open.error }),
    );
  }
  const settled = await settleBy(attempt, effects);
  if (settled !== undefined) return settled;
  const lastError = lease.record.last_error;
  return deadLetter(
    attempt,
    "attempts_exhausted",
    `${task.attempts} attempts are used up${lastError === undefined ? "" : `; the last error was: ${lastError}`}`,
    { uncounted: true },
  );
}

/** The record lost its payload. */
async function endWithoutPayload(attempt: Attempt): Promise<Ending> {
  const text = `the payload ${attempt.lease.record.payload_ref} is gone`;
  if (countOpen(attempt.lease.record.effects) > 0)
    return park(attempt, "payload_missing", new ParkError(`${text} and an effect is open`));
  return deadLetter(attempt, "payload_missing", text);
}

async function loadPayload(attempt: Attempt): Promise<string | undefined> {
  const { lease, runtime } = attempt;
  return whileLive(attempt, "read of the payload", () =>
    loadInput(runtime.store, runtime.payloadStore, lease.taskId, lease.record.payload_ref),
  );
}

async function parseInput(
  attempt: Attempt,
  text: string,
): Promise<{ readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }> {
  const json = parseJson(text);
  if (json === undefined) return { ok: false, reason: "the stored input is no JSON" };
  try {
    const parsed = await attempt.task.definition.input.safeParseAsync(json.value);
    if (parsed.success) return { ok: true, value: parsed.data };
    return {
      ok: false,
      reason: `input of task type ${attempt.task.type}: ${describeIssues(parsed.error, json.value, "input")}`,
    };
  } catch (error) {
    return {
      ok: false,
      reason: `input of task type ${attempt.task.type}: its schema threw: ${errorText(error)}`,
    };
  }
}

/** Ends that only a person leaves: the attempt after one runs, whatever the rule. */
const PERSON_DECIDED: ReadonlySet<string> = new Set(["parked", "dead_lettered", "cancelled"]);

/** The retry rule of the stage where the last attempt stopped. An ending: the handler does not run. */
async function applyRetryRule(attempt: Attempt, effects: Effects): Promise<Ending | undefined> {
  const { lease, task } = attempt;
  const { record } = lease;
  const stoppedAt = record.stage;
  if (countOpen(record.effects) > 0) {
    const outcomes = await effects.resolveOpen("before_run");
    const parked = outcomes.find((outcome) => outcome.is === "park");
    if (parked !== undefined) return park(attempt, "effect_unresolved", parked.error);
    const unsure = outcomes.find((outcome) => outcome.is === "unsure");
    if (unsure !== undefined) {
      // With no attempt left the next delivery would only find that out: an end that cannot read back waits three times.
      if (record.attempt >= task.attempts) return releaseUnread(attempt, unsure);
      return release(attempt, { delayMs: retryDelayMs(attempt), error: unsure.error, errorClass: "unread" });
    }
    return settleBy(attempt, effects);
  }
  const settled = await settleBy(attempt, effects);
  if (settled !== undefined) return settled;
  if (record.attempts_total <= 1) return undefined;
  if (stoppedAt === "external_call" && record.last_claims.at(-1)?.guard === "none") {
    return park(
      attempt,
      "unguarded_call",
      new ParkError(
        `an attempt stopped in external_call after a claim with the guard "none": ${record.last_claims.at(-1)?.reason}`,
      ),
    );
  }
  if (
    (stoppedAt === "external_call" || stoppedAt === "preflight") &&
    task.retry[stoppedAt] === "park" &&
    !PERSON_DECIDED.has(attempt.lastEnded?.how ?? "")
  ) {
    return park(
      attempt,
      "retry_rule",
      new ParkError(`an attempt stopped in ${stoppedAt}, and task type ${task.type} parks then`),
    );
  }
  return undefined;
}

/** Nothing follows the effect that `settledBy` names: with its receipt, and none open, the task is done. */
export async function settleBy(attempt: Attempt, effects: Effects): Promise<Ending | undefined> {
  const { lease, task } = attempt;
  const receipt = task.settledBy === undefined ? undefined : lease.record.effects[task.settledBy]?.receipt;
  if (receipt === undefined || countOpen(lease.record.effects) > 0) return undefined;
  return settle(attempt, effects, canonicalJson(receipt, "receipt"));
}
