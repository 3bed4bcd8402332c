import { parseTime, sleep } from "../clock.ts";
import { NotCommittedError, ParkError, RetryableError, verdictOf } from "../errors.ts";
import type { EffectState, Receipt } from "../record/record.ts";
import type { AnyEffect } from "../task/define.ts";
import { errorText } from "../util/error-text.ts";
import type { Attempt } from "./attempt.ts";
import { begin, guardOf, recordCommitted, recordFailed, recordReceipt } from "./effect-writes.ts";
import { judge, type Readback, readBack } from "./readback.ts";
import { effectReceipt } from "./receipt.ts";

/** First and longest wait between readbacks of a committed effect, ms. */
const READBACK_BASE_MS = 500;
const READBACK_CAP_MS = 30_000;

/** One effect of one attempt. */
export interface EffectStep {
  readonly attempt: Attempt;
  readonly effect: AnyEffect;
  readonly slot: string;
  readonly key: string;
  /** Absent when an earlier attempt's intent is read back before `run`. */
  readonly input?: unknown;
  /** This attempt has read it back already and the system said that it is not there. */
  readonly knownAbsent: boolean;
  /** The task ends: what is not there is not made any more, so the window of its key does not matter. */
  readonly ending?: boolean;
  /** When the commit was answered, for the settlement latency. */
  readonly onCommitted: () => void;
}

/**
 * begin -> commit -> verify -> receipt, from wherever an earlier attempt stopped. Throws `RetryableError` (release, read back
 * in the next attempt), `ParkError` (a person must decide), `NotCommittedError`, `LeaseLost`.
 */
export async function performEffect(step: EffectStep): Promise<Receipt> {
  const before = step.attempt.lease.record.effects[step.slot];
  if (before?.state === "verified" && before.receipt !== undefined) return before.receipt;
  const receipt =
    before === undefined
      ? undefined
      : before.state === "failed"
        ? await resolveFailed(step, before)
        : await resolveOpen(step, before);
  return receipt ?? beginAndCommit(step);
}

/**
 * An effect that an earlier attempt took for not there. It was read back, or nothing was sent; but what was sent once may
 * have landed since, so it is looked for again where that is possible.
 */
async function resolveFailed(step: EffectStep, before: EffectState): Promise<Receipt | undefined> {
  const { attempt, effect, slot } = step;
  if (before.fence === attempt.lease.fence || effect.find === null) return undefined;
  const readback = await readOnce(step, before);
  if (readback.found === "verified")
    return recordReceipt(attempt, slot, before, receiptOf(step, before, readback.verified));
  if (readback.found === "unsure")
    throw new RetryableError(`effect ${slot} could not be read back`, { cause: readback.error });
  if (windowPassed(effect, before, attempt.runtime.clock.now())) throw windowError(effect, slot);
  return undefined;
}

/**
 * Reads an intent of an earlier attempt back. A receipt: it is there. `undefined`: it is not, and the guard allows to commit
 * it again. Throws `RetryableError` or `ParkError` for everything else.
 */
export async function resolveOpen(step: EffectStep, before: EffectState): Promise<Receipt | undefined> {
  const { attempt, effect, slot } = step;
  const { telemetry } = attempt.runtime;
  const readback: Readback = step.knownAbsent ? { found: "absent" } : await readOnce(step, before);
  if (readback.found === "verified") {
    telemetry.effect(attempt.label, effect.name, "found_on_retry");
    return recordReceipt(attempt, slot, before, receiptOf(step, before, readback.verified));
  }
  const { resolution, allow_commit: allowCommit } = attempt.lease.record;
  const decided = resolution?.effect === slot ? resolution : undefined;
  if (decided?.decision === "committed" && readback.found !== "unsure") {
    const verified = { externalId: before.external_id ?? decided.external_id ?? "unknown", status: "committed" };
    return recordReceipt(attempt, slot, before, receiptOf(step, before, verified, decided.by));
  }
  if (readback.found === "unsure") {
    throw new RetryableError(`effect ${slot} could not be read back`, { cause: readback.error });
  }
  // Leave to commit again is no word that it is not there: an end goes by what can be read.
  if (decided?.decision === "commit-again" && allowCommit !== undefined && step.ending !== true) return undefined;
  telemetry.effect(attempt.label, effect.name, "not_found");
  if (readback.found === "unreadable") {
    throw new ParkError(
      `effect ${slot} was begun before and ${effect.externalSystem} cannot be read back; a person must say whether it is there`,
    );
  }
  if (before.state === "committed") {
    throw new RetryableError(`effect ${slot} was answered as committed and is not to be found yet`);
  }
  // A deploy may have given it a guard since: what was sent without one is not covered by it.
  if (guardOf(effect) === "none" || before.guard === "none") {
    throw new ParkError(
      `effect ${slot} was begun before, was not found, and nothing guards it against being made twice`,
    );
  }
  if (step.ending !== true && windowPassed(effect, before, attempt.runtime.clock.now())) {
    throw windowError(effect, slot);
  }
  return undefined;
}

function windowError(effect: AnyEffect, slot: string): ParkError {
  return new ParkError(
    `effect ${slot} was not found and the time for which ${effect.externalSystem} honours its key has passed`,
  );
}

/** One readback, as a claim of `verify`. */
async function readOnce(step: EffectStep, before: EffectState): Promise<Readback> {
  const { attempt, effect, slot } = step;
  if (effect.find === null) return { found: "unreadable" };
  attempt.lease.assertLive();
  attempt.claims.noteEffect(slot, "verify", `reading ${slot} back`);
  return readBack(effect, {
    idempotencyKey: before.key,
    ...("input" in step ? { input: step.input } : {}),
    ...(before.external_id === undefined ? {} : { externalId: before.external_id }),
    signal: step.ending === true ? attempt.lease.lostSignal : attempt.lease.signal,
  });
}

async function beginAndCommit(step: EffectStep): Promise<Receipt> {
  const { attempt, effect, slot, key } = step;
  const { lease, runtime } = attempt;
  if (lease.signal.aborted) throw lease.signal.reason;
  const before = lease.record.effects[slot];
  if (!(await begin(attempt, effect, slot, key))) {
    runtime.telemetry.effect(attempt.label, effect.name, "refused");
    throw new ParkError(`effect ${slot} was begun before and nothing guards it against being made twice`);
  }
  // The answer of begin may have taken longer than the lease it brought.
  lease.assertLive();
  if (lease.signal.aborted) {
    // It may have brought a cancel: nothing was sent now. What an earlier attempt has sent stays open, to be read back.
    if (before === undefined || before.state === "failed") await recordFailed(attempt, slot);
    throw lease.signal.reason;
  }
  let answer: unknown;
  try {
    answer = await effect.commit({ idempotencyKey: key, input: step.input, signal: lease.signal, fence: lease.fence });
  } catch (error) {
    return afterFailedCommit(step, before, error);
  }
  step.onCommitted();
  runtime.telemetry.effect(attempt.label, effect.name, "committed");
  attempt.span.effectStep(slot, "committed");
  return afterCommit(step, answer);
}

async function afterCommit(step: EffectStep, answer: unknown): Promise<Receipt> {
  const { attempt, effect, slot } = step;
  const answeredId = answeredIdOf(effect, answer);
  attempt.claims.noteEffect(slot, "verify", `committed ${slot}, verifying readback`);
  if (effect.find === null) {
    await recordCommitted(attempt, slot, answeredId);
    const judged = await judge(effect, answer);
    if (judged.found !== "verified") {
      throw new ParkError(
        `effect ${slot}: verify refused the answer of ${effect.externalSystem}, which cannot be read back`,
      );
    }
    return finish(step, judged.verified, "answer");
  }
  // Without a guard the answer is worth a write of its own: a crash from here on must not look like an unanswered commit.
  let recorded = false;
  if (guardOf(effect) === "none") {
    await recordCommitted(attempt, slot, answeredId);
    recorded = true;
  }
  for (let waitMs = READBACK_BASE_MS; ; waitMs *= 2) {
    const readback = await readBack(effect, {
      idempotencyKey: step.key,
      input: step.input,
      ...(answeredId === undefined ? {} : { externalId: answeredId }),
      signal: attempt.lease.signal,
    });
    if (readback.found === "verified") return finish(step, readback.verified);
    if (!recorded) {
      await recordCommitted(attempt, slot, answeredId);
      recorded = true;
    }
    if (waitMs > READBACK_CAP_MS) {
      throw new RetryableError(`effect ${slot} was committed and could not be verified yet`, {
        cause: readback.found === "unsure" ? readback.error : undefined,
      });
    }
    await sleep(attempt.runtime.clock, waitMs, attempt.lease.signal);
    if (attempt.lease.signal.aborted) throw attempt.lease.signal.reason;
  }
}

/** The commit threw: unless it says that nothing was sent, nobody knows whether it was applied. */
async function afterFailedCommit(step: EffectStep, earlier: EffectState | undefined, error: unknown): Promise<Receipt> {
  const { attempt, effect, slot } = step;
  const { telemetry } = attempt.runtime;
  if (verdictOf(error) === "not_committed") {
    telemetry.effect(attempt.label, effect.name, "not_committed");
    // What an earlier attempt may have sent stays open, to be read back.
    if (earlier === undefined || earlier.state === "failed") await recordFailed(attempt, slot);
    throw error instanceof Error ? error : new NotCommittedError(errorText(error));
  }
  telemetry.effect(attempt.label, effect.name, "unknown");
  attempt.span.effectStep(slot, "unknown");
  const before = attempt.lease.record.effects[slot];
  if (before === undefined) throw error;
  if (effect.find === null) {
    throw new ParkError(
      `effect ${slot}: the commit failed without an answer (${errorText(error)}), and ${effect.externalSystem} cannot be read back`,
      { cause: error },
    );
  }
  const readback = await readOnce(step, before);
  if (readback.found === "verified") return finish(step, readback.verified);
  if (readback.found === "absent" && guardOf(effect) === "none") {
    throw new ParkError(
      `effect ${slot}: the commit failed without an answer (${errorText(error)}), it was not found, and nothing guards it against being made twice`,
      { cause: error },
    );
  }
  // What was sent may still arrive: the next attempt reads back again before it commits again.
  throw new RetryableError(`effect ${slot}: the commit failed without an answer (${errorText(error)})`, {
    cause: error,
  });
}

async function finish(
  step: EffectStep,
  verified: { externalId: string; status: string; details?: unknown },
  verifiedBy?: string,
): Promise<Receipt> {
  const { attempt, effect, slot } = step;
  const state = attempt.lease.record.effects[slot];
  if (state === undefined) throw new RetryableError(`effect ${slot} is not in the record`);
  const receipt = await recordReceipt(attempt, slot, state, receiptOf(step, state, verified, verifiedBy));
  attempt.runtime.telemetry.effect(attempt.label, effect.name, "verified");
  return receipt;
}

function receiptOf(
  step: EffectStep,
  effect: EffectState,
  verified: { externalId: string; status: string; details?: unknown },
  verifiedBy?: string,
): Receipt {
  const { lease, runtime } = step.attempt;
  return effectReceipt({
    record: lease.record,
    effect,
    verified,
    now: runtime.clock.now(),
    ...(verifiedBy === undefined ? {} : { verifiedBy }),
  });
}

function windowPassed(effect: AnyEffect, before: EffectState, now: number): boolean {
  return typeof effect.guard === "object" && now - parseTime(before.first_begun_at) > effect.guard.windowMs;
}

/** After an answer nothing may look like an unanswered commit, not even an id that cannot be taken from it. */
function answeredIdOf(effect: AnyEffect, answer: unknown): string | undefined {
  try {
    const id: unknown = effect.externalId?.(answer);
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}
