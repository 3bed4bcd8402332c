import type { TaskRecord } from "@leasehold/core";
import { BUDGETS_MS } from "../definitions.ts";
import type { AppliedWrite } from "../recorder.ts";
import { checkEffects } from "./effect-changes.ts";
import type { EvidenceBook } from "./effects.ts";
import { type ModelContext, same, type TaskState } from "./state.ts";

/** What a write from outside may change on a leased record: nothing of the holder's. */
const OUTSIDE_LEASED = new Set([
  "cancel_requested_at",
  "check_at",
  "check_shard",
  "sent_at",
  "expiry_counted",
  "write_id",
  "updated_at",
]);
/** What acquire changes. */
const OF_ACQUIRE = new Set([
  "status",
  "status_shard",
  "fence",
  "lease_token",
  "lease_seq",
  "lease_owner",
  "lease_expires_at",
  "acquired_at",
  "renewal_count",
  "updated_at",
  "attempt",
  "attempts_total",
  "delivery_count",
]);
const ENDS: ReadonlySet<string> = new Set(["settled", "dead_lettered", "cancelled"]);

/** Looks at every write of a record: who made it, whether it was allowed to, and what it changed. */
export function createRecordChecks(context: ModelContext, evidence: EvidenceBook) {
  const { fail, tasks, hosts, log } = context;

  function onWrite({ writer, before: oldItem, after: newItem }: AppliedWrite): void {
    const after = newItem as unknown as TaskRecord;
    const before = oldItem as unknown as TaskRecord | undefined;
    log(
      "write",
      writer,
      after.task_id,
      after.status,
      after.fence,
      after.lease_seq ?? 0,
      after.stage,
      after.open_effects,
    );
    const state = tasks.get(after.task_id);
    if (before === undefined || state === undefined) {
      onCreate(writer, after);
      return;
    }
    const at = `task ${after.task_id} fence ${after.fence}, write by ${writer}`;
    if (before.status === "settled") fail(3, `${at}: a settled record was changed`);
    if (after.fence === before.fence + 1) onAcquire(writer, state, before, after, at);
    else if (after.fence !== before.fence) fail(1, `${at}: the fence went from ${before.fence} to ${after.fence}`);
    else if (after.lease_token !== before.lease_token) fail(1, `${at}: the token changed within a fence`);
    else if (after.lease_seq !== before.lease_seq) onHolderWrite(writer, state, before, after, at);
    else onOutsideWrite(state, before, after, at);
    if (before.settlement_receipt !== undefined && !same(before.settlement_receipt, after.settlement_receipt)) {
      fail(2, `${at}: the settlement receipt changed`);
    }
    const isOver = ({ status }: TaskRecord): boolean => ENDS.has(status) || status === "parked";
    if (isOver(before) && !isOver(after)) state.leftEndAt = context.now();
    state.record = after;
    state.waitsSince = undefined;
  }

  function onCreate(writer: string, record: TaskRecord): void {
    const host = hosts.get(writer);
    const leased = record.status === "leased";
    if (record.fence !== (leased ? 1 : 0))
      context.fail(1, `task ${record.task_id}: created with fence ${record.fence}`);
    tasks.set(record.task_id, {
      id: record.task_id,
      record,
      holder: leased && host !== undefined ? { host, at: context.now() } : undefined,
      runs: [],
      endedBy: new Map(),
      leftEndAt: Number.NEGATIVE_INFINITY,
      permissions: new Map(),
      vouched: new Set(),
      claims: new Map(),
      begun: new Map(),
      begunAnew: new Set(),
      begunAfterFailed: new Set(),
      waitsSince: undefined,
    });
  }

  function onAcquire(writer: string, state: TaskState, before: TaskRecord, after: TaskRecord, at: string): void {
    if (after.lease_token === before.lease_token) fail(1, `${at}: acquired under the token of the lease before`);
    if (after.status !== "leased" || ENDS.has(before.status) || before.status === "parked") {
      fail(3, `${at}: acquired out of ${before.status} into ${after.status}`);
    }
    if (before.status === "leased") {
      const lateMs = Date.parse(after.acquired_at ?? "") - Date.parse(before.lease_expires_at ?? "");
      if (!(lateMs > context.skewMs)) fail(7, `${at}: taken over ${lateMs} ms after the expiry of the lease before`);
    }
    const stray = changed(before, after).filter((field) => !OF_ACQUIRE.has(field));
    if (stray.length > 0) fail(1, `${at}: acquire changed ${stray.join(", ")}`);
    if (context.inBounds)
      for (const run of state.runs) {
        const { host, signal, running } = run;
        if (running && host.alive && !signal.aborted && context.now() > host.excusedUntil) {
          fail(
            7,
            `${at}: acquired while ${host.name} runs the handler of fence ${run.fence}, and its signal has not aborted`,
          );
        }
      }
    const host = hosts.get(writer);
    state.holder = host === undefined ? undefined : { host, at: context.now() };
    state.claims.clear();
  }

  function onHolderWrite(writer: string, state: TaskState, before: TaskRecord, after: TaskRecord, at: string): void {
    if (before.status !== "leased") fail(1, `${at}: a holder wrote on a record that was ${before.status}`);
    if (!((after.lease_seq ?? 0) > (before.lease_seq ?? 0)))
      fail(1, `${at}: write ${after.lease_seq} landed after write ${before.lease_seq}`);
    if (state.holder !== undefined && state.holder.host.name !== writer)
      fail(1, `${at}: ${state.holder.host.name} holds the lease`);
    checkEffects(context, evidence, state, before, after, at);
    if (after.status === "leased") checkExtension(state, before, after, at);
    else state.endedBy.set(writer, context.now());
    if (ENDS.has(after.status)) {
      const open = Object.entries(after.effects).filter(
        ([, effect]) => effect.state === "started" || effect.state === "committed",
      );
      if (open.length > 0) fail(9, `${at}: ${after.status} with ${open.map(([slot]) => slot).join(", ")} open`);
    }
  }

  /** A plain renewal needs a claim in its budget; writes about effects are claims themselves. */
  function checkExtension(state: TaskState, before: TaskRecord, after: TaskRecord, at: string): void {
    const { holder } = state;
    // A careless holder claims nothing.
    if (
      !context.inBounds ||
      holder === undefined ||
      holder.host.name.startsWith("x") ||
      !same(before.effects, after.effects)
    )
      return;
    if (!((after.lease_expires_at ?? "") > (before.lease_expires_at ?? ""))) return;
    const offsetMs = holder.host.clock.now() - context.now();
    const sentAt = Date.parse(after.updated_at) - offsetMs;
    const goodUntil = Math.max(holder.at + START_BUDGET_MS, ...state.claims.values());
    // A wall clock may have been set since the write was sent, by as much as the skew; budgets do not count a sleep.
    if (sentAt > goodUntil + context.skewMs + holder.host.sleptMs)
      fail(8, `${at}: renewed ${Math.round(sentAt - goodUntil)} ms after the last claim was used up`);
  }

  function onOutsideWrite(state: TaskState, before: TaskRecord, after: TaskRecord, at: string): void {
    const fields = changed(before, after);
    if (before.status === "leased") {
      const stray = fields.filter((field) => !OUTSIDE_LEASED.has(field));
      if (stray.length > 0) fail(1, `${at}: somebody who holds no lease changed ${stray.join(", ")} of a live one`);
      return;
    }
    const step = `${before.status} to ${after.status}`;
    const waiting = before.status === "queued" || before.status === "released";
    const allowed =
      before.status === after.status ||
      (after.status === "cancelled" && (waiting || before.status === "parked")) ||
      (after.status === "queued" &&
        (before.status === "parked" || before.status === "dead_lettered" || before.status === "cancelled"));
    if (!allowed) fail(1, `${at}: ${step} without a lease`);
    const { resolution } = after;
    if (
      before.status === "parked" &&
      after.status === "queued" &&
      resolution !== undefined &&
      !same(resolution, before.resolution)
    ) {
      const slot = resolution.effect ?? "";
      if (resolution.decision === "commit-again") state.permissions.set(slot, (state.permissions.get(slot) ?? 0) + 1);
      if (resolution.decision === "committed") state.vouched.add(`${slot} ${resolution.by}`);
    } else if (!same(before.effects, after.effects))
      fail(1, `${at}: effects changed without a lease and without a decision`);
    for (const [slot, effect] of Object.entries(before.effects)) {
      if (effect.receipt !== undefined && !same(effect.receipt, after.effects[slot]?.receipt))
        fail(2, `${at}: the receipt of ${slot} changed`);
    }
    // A parked task that a person cancels is that person's word on what is open.
    if (after.status === "cancelled" && waiting && after.open_effects > 0)
      fail(9, `${at}: cancelled with an effect that nobody read back`);
  }

  return { onWrite };
}

/** What starting buys; a little more than the budget, for the way of the acquire and of the look. */
const START_BUDGET_MS = BUDGETS_MS.preflight + 50;

function changed(before: TaskRecord, after: TaskRecord): string[] {
  const [left, right] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(
    (field) => !same(left[field], right[field]),
  );
}
