import type { EffectState, TaskRecord } from "@leasehold/core";
import { BUDGETS_MS } from "../definitions.ts";
import type { EvidenceBook } from "./effects.ts";
import { type ModelContext, same, type TaskState } from "./state.ts";

/** What a holder's write does to the effects of the record, and whether it had seen what that takes. */
export function checkEffects(
  context: ModelContext,
  evidence: EvidenceBook,
  state: TaskState,
  before: TaskRecord,
  after: TaskRecord,
  at: string,
): void {
  if (before.effects === after.effects) return;
  for (const [slot, now] of Object.entries(after.effects)) {
    const then = before.effects[slot];
    if (then !== undefined && same(then, now)) continue;
    if (then?.receipt !== undefined) {
      context.fail(2, `${at}: effect ${slot}, which has its receipt, was changed`);
      continue;
    }
    checkChange(context, evidence, state, slot, then, now, before, after, at);
  }
  for (const slot of Object.keys(before.effects))
    if (after.effects[slot] === undefined) context.fail(1, `${at}: effect ${slot} is gone`);
}

function checkChange(
  context: ModelContext,
  evidence: EvidenceBook,
  state: TaskState,
  slot: string,
  then: EffectState | undefined,
  now: EffectState,
  before: TaskRecord,
  after: TaskRecord,
  at: string,
): void {
  const { holder } = state;
  if (holder === undefined) return;
  const seen = evidence.of(holder.host.name, now.key, holder.at);
  switch (now.state) {
    case "started":
      if (
        now.guard === "none" &&
        (then?.state === "started" || then?.state === "committed") &&
        before.allow_commit === undefined
      ) {
        context.fail(5, `${at}: effect ${slot}, which nothing guards, was begun again`);
      }
      if (after.allow_commit !== undefined && after.resolution?.effect === slot) {
        context.fail(5, `${at}: effect ${slot} was begun, and the leave to commit it again is still there`);
      }
      state.claims.set(slot, context.now() + BUDGETS_MS.commit);
      state.begun.set(`${after.fence} ${slot}`, Date.parse(after.lease_expires_at ?? ""));
      if (then === undefined || then.state === "failed") state.begunAnew.add(`${after.fence} ${slot}`);
      if (then?.state === "failed") state.begunAfterFailed.add(`${after.fence} ${slot}`);
      return;
    case "committed":
      if (!seen.answered)
        context.fail(2, `${at}: effect ${slot} was recorded as committed, and no commit was answered under this lease`);
      return;
    case "failed":
      // Begun under this lease, and given up before anything was sent.
      if (state.begunAnew.has(`${after.fence} ${slot}`) && !seen.called) return;
      if (!seen.absent && !seen.notSent)
        context.fail(9, `${at}: effect ${slot} was recorded as not there, and nobody under this lease has seen that`);
      return;
    case "verified":
      checkReceipt(context, evidence, state, slot, now, at);
  }
}

function checkReceipt(
  context: ModelContext,
  evidence: EvidenceBook,
  state: TaskState,
  slot: string,
  effect: EffectState,
  at: string,
): void {
  const { receipt, key } = effect;
  const { holder } = state;
  if (receipt === undefined || holder === undefined) {
    context.fail(2, `${at}: effect ${slot} was recorded as verified without a receipt`);
    return;
  }
  const seen = evidence.of(holder.host.name, key, holder.at);
  const id = receipt.external_id;
  if (receipt.verified_by === "answer") {
    if (!seen.answeredIds.has(id))
      context.fail(2, `${at}: the receipt of ${slot} names ${id}, which no answer under this lease named`);
    return;
  }
  if (receipt.verified_by !== undefined) {
    if (!state.vouched.has(`${slot} ${receipt.verified_by}`))
      context.fail(2, `${at}: the receipt of ${slot} is vouched for by ${receipt.verified_by}, who never said so`);
    return;
  }
  if (seen.foundIds.has(id)) return;
  const copied = effect.shared === true && [...context.tasks.values()].some((other) => isMade(other.record, key, id));
  if (!copied)
    context.fail(2, `${at}: the receipt of ${slot} names ${id}, which nobody under this lease has read back`);
}

function isMade(record: TaskRecord, key: string, id: string): boolean {
  return Object.values(record.effects).some((effect) => effect.key === key && effect.receipt?.external_id === id);
}
