import { parseTime } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import type { EffectState, Resolution, TaskRecord } from "../record/record.ts";
import { countOpen, type EffectStates, openSlots, stageOf } from "../record/stage.ts";
import { clipBytes } from "../util/json.ts";
import { expiry, laterTime, refuse, requireText, storedTime } from "./arguments.ts";
import type { ItemStore, ItemValue } from "./items.ts";
import { checkShardOf, statusShardOf } from "./keys.ts";
import { type OutsideChange, writeFromOutside } from "./outside.ts";
import { storable } from "./storable.ts";
import type { OutsideOutcome, OutsideRequest, ResumeRequest, TaskStore } from "./task-store.ts";

const DECISIONS: ReadonlySet<string> = new Set<Resolution["decision"]>(["retry", "commit-again", "committed"]);
const MAX_EXTERNAL_ID_BYTES = 512;
const MAX_NOTE_BYTES = 1_024;

/** A person has looked at a parked task and says how to go on. The attempts begin anew: else a task that has used them up would park again. */
export async function resume(items: ItemStore, request: ResumeRequest): Promise<OutsideOutcome> {
  if (!DECISIONS.has(request.decision))
    throw refuse("decision", JSON.stringify(request.decision), [...DECISIONS].join(", "));
  requireText(request.by, "by");
  if (request.externalId !== undefined) requireText(request.externalId, "externalId", MAX_EXTERNAL_ID_BYTES);
  return writeFromOutside(items, request, (record) => {
    if (record.status !== "parked") return "refused";
    const slot = slotOf(record, request);
    const effects = slot === undefined ? record.effects : decided(record.effects, slot, request);
    const again = request.decision === "commit-again";
    return requeue(record, request, effects, {
      set: { resolution: resolutionOf(request, slot), ...(again ? { allow_commit: record.fence } : {}) },
      ...(again ? {} : { remove: ["allow_commit"] }),
    });
  });
}

/** Starts an ended or parked task again. Effects and receipts stay; a permission to commit again that was not used is withdrawn. */
export async function reopen(items: ItemStore, request: Parameters<TaskStore["reopen"]>[0]): Promise<OutsideOutcome> {
  return writeFromOutside(items, request, (record) => {
    const left = record.status === "dead_lettered" || record.status === "parked" || record.status === "cancelled";
    if (!left || (request.fence !== undefined && request.fence !== record.fence)) return "refused";
    return requeue(record, request, record.effects, { set: {}, remove: ["allow_commit"] });
  });
}

/** Back into the queue, at the stage of what is open, as if its message were sent now. */
function requeue(
  record: TaskRecord,
  request: OutsideRequest & { readonly deadline?: number },
  effects: EffectStates,
  more: Omit<OutsideChange, "payloadExpiry">,
): OutsideChange {
  const deadline = request.deadline ?? (record.deadline === undefined ? undefined : parseTime(record.deadline));
  const keepsDeadline = deadline !== undefined && deadline > request.at;
  return {
    set: {
      status: "queued",
      status_shard: statusShardOf("queued", record.task_id),
      stage: stageOf(effects, "preflight"),
      attempt: 0,
      effects: storable(effects, "effects"),
      open_effects: countOpen(effects),
      last_claims: storable(
        record.last_claims.map((claim) => ({ ...claim, guard: undefined })),
        "last_claims",
      ),
      sent_at: storedTime(request.at, "at"),
      check_at: laterTime(request.at, "at", request.recoverAfterMs, "recoverAfterMs"),
      check_shard: checkShardOf(record.queue, "waiting", record.task_id),
      ...(keepsDeadline ? { deadline: storedTime(deadline, "deadline") } : {}),
      ...more.set,
    },
    remove: [
      "not_before",
      "cancel_requested_at",
      "expire_at",
      "end_reason",
      "unread_releases",
      ...(keepsDeadline ? [] : ["deadline"]),
      ...(more.remove ?? []),
    ],
    payloadExpiry: expiry(request.at, 2 * request.retentionMs),
  };
}

/** The effect that the decision is about. Throws `InvalidArgument` naming the choices when the request does not say which. */
function slotOf(record: TaskRecord, request: ResumeRequest): string | undefined {
  const open = openSlots(record.effects);
  const { effect, decision } = request;
  if (effect !== undefined) {
    const state = Object.hasOwn(record.effects, effect) ? record.effects[effect]?.state : undefined;
    if (state === undefined) throw wrongEffect(record, `no effect ${JSON.stringify(effect.slice(0, 80))}`, open);
    if (state === "verified" && decision !== "retry")
      throw wrongEffect(record, `effect ${effect}, which was read back and has its receipt`, open);
    return effect;
  }
  if (decision === "retry") return undefined;
  if (open.length !== 1)
    throw wrongEffect(
      record,
      open.length === 0 ? "nothing, and no effect is open" : "nothing, and several effects are open",
      open,
    );
  return open[0];
}

function wrongEffect(record: TaskRecord, got: string, open: readonly string[]): LeaseholdError {
  const choices = open.length > 0 ? `one of the open effects: ${open.join(", ")}` : `the decision "retry", or reopen`;
  return new LeaseholdError("InvalidArgument", `effect: got ${got} in task ${record.task_id}; expected ${choices}`, {
    details: { field: "effect" },
  });
}

function decided(effects: EffectStates, slot: string, request: ResumeRequest): EffectStates {
  if (request.decision !== "committed") return effects;
  const before = effects[slot] as EffectState;
  const { externalId } = request;
  return {
    ...effects,
    [slot]: {
      ...before,
      state: "committed",
      ...(externalId === undefined ? {} : { external_id: externalId.toWellFormed() }),
    },
  };
}

function resolutionOf(request: ResumeRequest, slot: string | undefined): ItemValue {
  return storable(
    {
      decision: request.decision,
      effect: slot,
      external_id: request.externalId,
      by: request.by,
      note: request.note === undefined ? undefined : clipBytes(request.note, MAX_NOTE_BYTES),
      at: storedTime(request.at, "at"),
    },
    "resolution",
  );
}
