import { formatTime, parseTime } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import type { EffectState, Guard, Receipt } from "../record/record.ts";
import { countOpen } from "../record/stage.ts";
import type { HolderOutcome, HolderWrite, Refused } from "../store/task-store.ts";
import type { AnyEffect } from "../task/define.ts";
import type { Attempt } from "./attempt.ts";
import type { LeaseAnswer } from "./lease.ts";
import { clipExternalId, taskReceipt } from "./receipt.ts";

/** Effects of one task. */
export const MAX_EFFECTS = 50;

type EffectCall = (
  write: HolderWrite & { readonly leaseMs: number; readonly effect: string },
) => Promise<HolderOutcome | Refused>;

/**
 * Changes one effect in the record, as a fenced holder write with a full new lease of the stage that results; past the budget
 * with what is left of the old one.
 */
async function writeEffect(
  attempt: Attempt,
  slot: string,
  doing: string,
  change: (before: EffectState | undefined) => EffectState,
  call: EffectCall,
): Promise<LeaseAnswer> {
  const fullMs = attempt.leaseMsIn(doing === "begin" ? "commit" : "verify");
  const { lease_expires_at: expiresAt } = attempt.lease.record;
  const leaseMs =
    attempt.mayRenew() || expiresAt === undefined ? fullMs : parseTime(expiresAt) - attempt.runtime.clock.now();
  return attempt.lease.write({
    doing: `${doing} of effect ${slot}`,
    leaseMs,
    state: (record) => {
      const effects = { ...record.effects, [slot]: change(record.effects[slot]) };
      return { ...attempt.stateWith(effects), effects, open_effects: countOpen(effects) };
    },
    call: (write) => call({ ...write, leaseMs, effect: slot }),
  });
}

export function guardOf(effect: AnyEffect): Guard {
  return typeof effect.guard === "object" ? effect.guard.kind : effect.guard;
}

/**
 * The intent, durable before anything is sent. `false`: refused, the effect has no guard and was begun before.
 * Throws `InvalidArgument` when the task has no room for one more effect.
 */
export async function begin(attempt: Attempt, effect: AnyEffect, slot: string, key: string): Promise<boolean> {
  const { lease, runtime } = attempt;
  if (lease.record.effects[slot] === undefined && Object.keys(lease.record.effects).length >= MAX_EFFECTS) {
    throw new LeaseholdError(
      "InvalidArgument",
      `effect ${slot}: the task has ${MAX_EFFECTS} effects already, the most that a task can have; split the task`,
      {
        details: { limit: MAX_EFFECTS },
      },
    );
  }
  attempt.claims.noteEffect(slot, "commit", `begin ${slot}`);
  const answer = await writeEffect(
    attempt,
    slot,
    "begin",
    (before) => {
      const at = formatTime(runtime.clock.now());
      return {
        ...before,
        key,
        guard: guardOf(effect),
        state: "started",
        begun_at: at,
        first_begun_at: before?.first_begun_at ?? at,
        fence: lease.fence,
        begins: (before?.begins ?? 0) + 1,
        external_system: effect.externalSystem,
        ...(effect.scope === "global" ? { shared: true } : {}),
      };
    },
    (write) => runtime.store.beginEffect(write),
  );
  if (answer.outcome === "refused") {
    attempt.claims.endEffect(slot);
    return false;
  }
  attempt.span.effectStep(slot, "begun");
  runtime.telemetry.effect(attempt.label, effect.name, "begun");
  return true;
}

/** The intent of an owner that is gone, or of an attempt of ours that was never written, as one that may have been sent. */
export async function inherit(attempt: Attempt, slot: string, intent: EffectState): Promise<void> {
  await writeEffect(
    attempt,
    slot,
    "begin",
    () => ({ ...intent, state: "started" }),
    (write) => attempt.runtime.store.beginEffect(write),
  );
}

/** The system answered. */
export async function recordCommitted(attempt: Attempt, slot: string, externalId: string | undefined): Promise<void> {
  await writeEffect(
    attempt,
    slot,
    "committed",
    (before) => ({
      ...existing(before, slot),
      state: "committed",
      ...(externalId === undefined ? {} : { external_id: clipExternalId(externalId) }),
    }),
    (write) => attempt.runtime.store.recordCommitted(write),
  );
}

/** Certainly not there: nothing was sent, or it was read back and is absent. */
export async function recordFailed(attempt: Attempt, slot: string): Promise<void> {
  await writeEffect(
    attempt,
    slot,
    "failed",
    (before) => ({ ...existing(before, slot), state: "failed" }),
    (write) => attempt.runtime.store.recordFailed(write),
  );
}

/** It was read back. */
export async function recordReceipt(
  attempt: Attempt,
  slot: string,
  before: EffectState,
  receipt: Receipt,
): Promise<Receipt> {
  await writeEffect(
    attempt,
    slot,
    "receipt",
    (now) => ({ ...(now ?? before), state: "verified", external_id: receipt.external_id, receipt }),
    (write) => attempt.runtime.store.recordReceipt(write),
  );
  attempt.span.effectStep(slot, "verified");
  // Refused: it has a receipt already, and that is the one.
  return attempt.lease.record.effects[slot]?.receipt ?? receipt;
}

/** The receipt of the whole task, for its settle. */
export function taskReceiptOf(attempt: Attempt, result: string | undefined): Receipt {
  return taskReceipt(attempt.lease.record, attempt.task.receiptFrom, result, attempt.runtime.clock.now());
}

function existing(before: EffectState | undefined, slot: string): EffectState {
  if (before === undefined)
    throw new LeaseholdError("Unknown", `effect ${slot} is not in the record; it was begun there before`);
  return before;
}
