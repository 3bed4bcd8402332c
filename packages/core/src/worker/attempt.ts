import { formatTime, parseTime } from "../clock.ts";
import { fromUnknown, isLeaseholdError } from "../errors.ts";
import type { AttemptEntry, ClaimStage, EffectState, Stage } from "../record/record.ts";
import { stageOf } from "../record/stage.ts";
import type { HolderState } from "../store/task-store.ts";
import type { ResolvedTask } from "../task/resolve.ts";
import type { ProcessSpan, TaskLabel } from "../telemetry/telemetry.ts";
import type { Claims } from "./claims.ts";
import type { Kept } from "./keeper.ts";
import type { Lease } from "./lease.ts";
import type { Runtime } from "./runtime.ts";

/**
 * One attempt under a lease: its claims, and the watch that keeps the record's lease alive exactly as long as the claims
 * are good for it.
 */
export interface Attempt {
  readonly runtime: Runtime;
  readonly lease: Lease;
  readonly task: ResolvedTask;
  readonly claims: Claims;
  readonly span: ProcessSpan;
  readonly label: TaskLabel;
  /** The length of a lease in this stage, ms. */
  leaseMsIn(stage: Stage): number;
  /** Absolute values for a write of a record with these effects: claims, stage, and the log of finished attempts. */
  stateWith(effects: Readonly<Record<string, EffectState>>): HolderState & { readonly stage: Stage };
  /** Adds a finished attempt to the log; the next write carries it. */
  logAttempt(entry: Pick<AttemptEntry, "attempt" | "fence" | "owner" | "from" | "stage" | "how">): void;
  /** The attempt before this one, as the log has it. */
  readonly lastEnded: AttemptEntry | undefined;
  /** Writes claims and a full new lease. */
  renew(): Promise<void>;
  /** False past the budget: neither lease is renewed then. */
  mayRenew(): boolean;
  /** Looks again at when the watch is due: a budget has changed. */
  rewatch(): void;
  /** Renewing stops and an end is written at once, whatever the handler does: the process stops. */
  giveUp(): void;
  /** Resolves when renewing has stopped and the last moment to write an end has come; the handler may still run. */
  readonly cutoff: Promise<void>;
  readonly watch: Kept;
}

/** How long before the holder's deadline an end must have been written, ms; at most a quarter of the lease. */
const CUTOFF_MS = 2_000;

export interface AttemptStart {
  readonly runtime: Runtime;
  readonly lease: Lease;
  readonly task: ResolvedTask;
  readonly claims: Claims;
  readonly span: ProcessSpan;
  readonly label: TaskLabel;
  readonly startedMonotonic: number;
  readonly keep: (watch: Kept) => void;
}

/** Finished attempts kept in the record. */
const KEPT_ATTEMPTS = 10;

export function createAttempt(start: AttemptStart): Attempt {
  const { runtime, lease, task, claims } = start;
  const { clock } = runtime;
  const runEnd = start.startedMonotonic + task.maxRunMs;
  const deadlineWall =
    lease.record.deadline === undefined ? Number.POSITIVE_INFINITY : parseTime(lease.record.deadline);
  let renewing = false;
  let cutoffReached = false;
  let givenUp = false;
  let log: readonly AttemptEntry[] = lease.record.attempts;
  let reachCutoff: () => void = () => undefined;
  const cutoff = new Promise<void>((resolve) => {
    reachCutoff = resolve;
  });

  const leaseMsIn = (stage: Stage): number =>
    task.leaseMs[stage === "settled" ? "verify" : (stage satisfies ClaimStage)];
  const budgetPassed = (): boolean => clock.monotonic() >= Math.min(claims.budgetEnd(), runEnd);
  /** Past the budget neither lease is renewed. */
  const renewalStopped = (): boolean =>
    givenUp || lease.abortReason === "no_progress" || (lease.abortReason !== undefined && budgetPassed());
  const cutoffAt = (): number => lease.deadlineMonotonic - Math.min(CUTOFF_MS, lease.leaseMs / 4);
  const renewDue = (): number => Math.min(lease.confirmedMonotonic + lease.leaseMs / 2, claims.flushDue());

  const stateWith = (effects: Readonly<Record<string, EffectState>>): HolderState & { readonly stage: Stage } => {
    const claim = claims.takeUntold();
    if (claim !== undefined) start.span.claim(claim.stage, claim.reason);
    return log === lease.record.attempts ? claims.state(effects) : { ...claims.state(effects), attempts: log };
  };

  const renew = async (): Promise<void> => {
    const leaseMs = leaseMsIn(stageOf(lease.record.effects, claims.stage));
    await lease.write({
      doing: "renew",
      leaseMs,
      state: (record) => ({ ...stateWith(record.effects), renewal_count: record.renewal_count + 1 }),
      call: (write) => runtime.store.renew({ ...write, leaseMs }),
    });
  };

  const keepAlive = async (): Promise<void> => {
    renewing = true;
    let renewed = false;
    try {
      await renew();
      renewed = true;
    } catch (error) {
      // A lost lease has told the handler already; anything else leaves the lease to its deadline.
      if (!isLeaseholdError(error, "LeaseLost")) {
        runtime.logger.error("a renewal was refused", {
          task_id: lease.taskId,
          error: fromUnknown(error, "renew").message,
        });
      }
    } finally {
      renewing = false;
      // The answer was noted while the renewal was under way: the next one is due from here. After a refusal there is none.
      if (renewed) start.keep(watch);
    }
  };

  const watch: Kept = {
    due: 0,
    place: -1,
    nextDue() {
      if (lease.lost || lease.ended) return Number.POSITIVE_INFINITY;
      if (renewalStopped())
        return cutoffReached ? lease.deadlineMonotonic : Math.min(cutoffAt(), lease.deadlineMonotonic);
      const untilDeadline =
        lease.abortReason === undefined ? clock.monotonic() + (deadlineWall - clock.now()) : Number.POSITIVE_INFINITY;
      return Math.min(
        lease.deadlineMonotonic,
        claims.budgetEnd(),
        runEnd,
        untilDeadline,
        renewing ? Number.POSITIVE_INFINITY : renewDue(),
      );
    },
    look() {
      if (lease.lost || lease.ended) return;
      if (lease.remainingMs() <= 0) {
        lease.lose("expired");
        return;
      }
      if (clock.now() >= deadlineWall) lease.abort("deadline");
      if (budgetPassed()) lease.abort("no_progress");
      if (renewalStopped()) {
        if (!cutoffReached && clock.monotonic() >= cutoffAt()) {
          cutoffReached = true;
          reachCutoff();
        }
        return;
      }
      if (!renewing && clock.monotonic() >= renewDue()) void keepAlive();
    },
  };

  return {
    runtime,
    lease,
    task,
    claims,
    span: start.span,
    label: start.label,
    leaseMsIn,
    stateWith,
    logAttempt(entry) {
      log = [...log, { ...entry, to: formatTime(clock.now()) }].slice(-KEPT_ATTEMPTS);
    },
    get lastEnded() {
      return log.at(-1);
    },
    renew,
    mayRenew: () => !renewalStopped() && !budgetPassed(),
    rewatch: () => start.keep(watch),
    giveUp() {
      givenUp = true;
      reachCutoff();
    },
    cutoff,
    watch,
  };
}
