import { formatTime } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import type { Claim, ClaimStage, EffectState, Stage, TaskRecord } from "../record/record.ts";
import { stageOf } from "../record/stage.ts";
import type { HolderState } from "../store/task-store.ts";
import type { ClaimRequest } from "../task/define.ts";
import type { ResolvedTask } from "../task/resolve.ts";
import { durationMs } from "../util/duration.ts";
import { kindOf } from "../util/issues.ts";
import { clipBytes } from "../util/json.ts";
import { isVague, storedReason } from "../util/reason.ts";
import type { Runtime } from "./runtime.ts";

/** Claims kept in the record. */
const KEPT_CLAIMS = 3;
/** Bytes of the unit of progress. */
const MAX_UNIT_BYTES = 32;
/** Repeats within this time are written once, ms. */
const COALESCE_MS = 1_000;

/** What a claim changes. */
export interface ClaimNote {
  /** The reason says nothing: recorded, counted, no time bought. */
  readonly vague: boolean;
  /** A change of stage or guard is written before `renew` resolves. */
  readonly urgent: boolean;
}

/**
 * What an attempt says about itself, and how long that is a good excuse. Budgets: the handler's own line has one, each
 * effect under way has one; the first to pass ends all.
 */
export interface Claims {
  /** Takes a claim of the handler. Throws `InvalidArgument` for one that is none. */
  note(request: ClaimRequest): ClaimNote;
  /** The handler's last claim that no write has carried yet; it counts as told. */
  takeUntold(): Pick<Claim, "stage" | "reason"> | undefined;
  /** The retry rule has let the handler run: from here on the stage is its own, from `preflight`. */
  startRun(): void;
  /** An effect claims: it replaces the handler's line while it is under way. */
  noteEffect(slot: string, stage: "commit" | "verify", reason: string): void;
  /** The effect is no longer under way; the handler's line goes on with what was left of it, at the least. */
  endEffect(slot: string): void;
  /** The stage of the last claim. */
  readonly stage: ClaimStage;
  /** Monotonic time at which the first budget passes. */
  budgetEnd(): number;
  /** Monotonic time at which waiting repeats should be written; Infinity: none wait. */
  flushDue(): number;
  /** Absolute values for a write of a record with these effects; the claims count as written. */
  state(effects: Readonly<Record<string, EffectState>>): HolderState & { readonly stage: Stage };
}

export function createClaims(
  runtime: Runtime,
  task: ResolvedTask,
  record: TaskRecord,
  startedMonotonic: number,
): Claims {
  const { clock } = runtime;
  let claims: Claim[] = [...record.last_claims];
  let claimCount = record.claim_count;
  let stage: ClaimStage = record.stage === "settled" ? "verify" : record.stage;
  /** The last claim that bought time: a vague one between two equal ones does not make the second one new. */
  let last: { readonly stage: Stage; readonly reason: string; readonly progress: Claim["progress"] } | undefined;
  let guard: ClaimRequest["guard"];
  let handlerEnd = startedMonotonic + task.budgetMs.preflight;
  const effectEnds = new Map<string, number>();
  let unwritten = false;
  let untold: Pick<Claim, "stage" | "reason"> | undefined;
  let writtenMonotonic = Number.NEGATIVE_INFINITY;

  const push = (claim: Claim): void => {
    claims = [...claims, claim].slice(-KEPT_CLAIMS);
    claimCount += 1;
    unwritten = true;
  };

  return {
    note(request) {
      const { progress } = request;
      checkClaim(request);
      const budgetMs =
        request.budget === undefined ? task.budgetMs[request.stage] : durationMs(request.budget, "renew.budget");
      const reason = storedReason(request.reason ?? progressText(progress));
      const vague = progress === undefined && isVague(reason);
      if (vague && runtime.settings.strictReasons) {
        throw new LeaseholdError(
          "InvalidArgument",
          `renew.reason: ${JSON.stringify(reason)} says nothing about progress; expected what was done or what is waited for, such as "downloaded 18 of 24 documents"`,
        );
      }
      const urgent = request.stage !== stage || request.guard !== guard;
      const repeat =
        last !== undefined &&
        last.stage === request.stage &&
        last.reason === reason &&
        !hasGrown(last.progress, progress);
      push({
        stage: request.stage,
        reason,
        at: formatTime(clock.now()),
        ...(request.guard === undefined ? {} : { guard: request.guard }),
        ...(progress === undefined ? {} : { progress: storedProgress(progress) }),
      });
      if (!vague && !repeat) handlerEnd = clock.monotonic() + budgetMs;
      stage = request.stage;
      untold = { stage, reason };
      guard = request.guard;
      if (!vague) last = { stage: request.stage, reason, progress: progress && storedProgress(progress) };
      return { vague, urgent };
    },
    takeUntold() {
      const told = untold;
      untold = undefined;
      return told;
    },
    startRun() {
      stage = "preflight";
      handlerEnd = clock.monotonic() + task.budgetMs.preflight;
    },
    noteEffect(slot, effectStage, reason) {
      push({ stage: effectStage, reason: storedReason(reason), at: formatTime(clock.now()) });
      stage = effectStage;
      guard = undefined;
      last = undefined;
      effectEnds.set(slot, clock.monotonic() + task.budgetMs[effectStage]);
      handlerEnd = Number.POSITIVE_INFINITY;
    },
    endEffect(slot) {
      const end = effectEnds.get(slot);
      effectEnds.delete(slot);
      if (effectEnds.size === 0 && handlerEnd === Number.POSITIVE_INFINITY && end !== undefined) handlerEnd = end;
    },
    get stage() {
      return stage;
    },
    budgetEnd: () => Math.min(handlerEnd, ...effectEnds.values()),
    flushDue: () => (unwritten ? writtenMonotonic + COALESCE_MS : Number.POSITIVE_INFINITY),
    state(effects) {
      unwritten = false;
      writtenMonotonic = clock.monotonic();
      return { stage: stageOf(effects, stage), last_claims: claims, claim_count: claimCount };
    },
  };
}

const CLAIM_STAGES: readonly ClaimStage[] = ["preflight", "external_call", "commit", "verify"];

function checkClaim(request: ClaimRequest): void {
  if (!CLAIM_STAGES.includes(request.stage)) {
    throw new LeaseholdError(
      "InvalidArgument",
      `renew.stage: got ${kindOf(request.stage)}, expected one of ${CLAIM_STAGES.join(", ")}`,
    );
  }
  if (request.reason !== undefined && typeof request.reason !== "string") {
    throw new LeaseholdError("InvalidArgument", `renew.reason: got ${kindOf(request.reason)}, expected text`);
  }
  if (request.guard !== undefined && (request.guard !== "none" || request.stage !== "external_call")) {
    throw new LeaseholdError(
      "InvalidArgument",
      `renew.guard: only "none", on a claim of external_call; what must not happen twice belongs in an effect`,
    );
  }
  const { progress } = request;
  if (progress === undefined) {
    if (request.reason === undefined)
      throw new LeaseholdError("InvalidArgument", "renew: expected a reason or progress: { done, total?, unit? }");
    return;
  }
  if (progress.unit !== undefined && typeof progress.unit !== "string") {
    throw new LeaseholdError(
      "InvalidArgument",
      `renew.progress.unit: got ${kindOf(progress.unit)}, expected text such as "documents"`,
    );
  }
  for (const field of ["done", "total"] as const) {
    const value = progress[field];
    if (value !== undefined && !Number.isFinite(value)) {
      throw new LeaseholdError(
        "InvalidArgument",
        `renew.progress.${field}: got ${kindOf(value)}, expected a finite number`,
      );
    }
  }
}

/** Only what a record keeps, whatever else the handler's object holds. */
function storedProgress({ done, total, unit }: NonNullable<ClaimRequest["progress"]>): NonNullable<Claim["progress"]> {
  return {
    done,
    ...(total === undefined ? {} : { total }),
    ...(unit === undefined ? {} : { unit: clipBytes(unit.toWellFormed(), MAX_UNIT_BYTES) }),
  };
}

function progressText(progress: ClaimRequest["progress"]): string {
  if (progress === undefined) return "";
  const { done, total, unit } = progress;
  return `${done}${total === undefined ? "" : ` of ${total}`}${unit === undefined ? "" : ` ${unit}`}`;
}

function hasGrown(before: Claim["progress"], now: ClaimRequest["progress"]): boolean {
  return now !== undefined && (before === undefined || now.done > before.done);
}
