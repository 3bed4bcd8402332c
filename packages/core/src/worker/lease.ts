import { sleep } from "../clock.ts";
import { fromUnknown, LeaseholdError } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import type { HolderOutcome, HolderState, HolderWrite, Refused } from "../store/task-store.ts";
import type { AbortReason } from "../task/define.ts";
import { backoffMs } from "../util/retry.ts";
import { within } from "../util/timeout.ts";
import { leaseMarginMs, type Runtime } from "./runtime.ts";

/** One write of a holder. */
export interface LeaseWrite {
  /** For errors: "renew". */
  readonly doing: string;
  /** The state to write, computed when the write's turn has come. */
  readonly state: (record: TaskRecord) => HolderState;
  readonly call: (write: HolderWrite) => Promise<HolderOutcome | Refused>;
  /** The length of the lease that this write brings; absent: the write ends the lease. */
  readonly leaseMs?: number;
}

export interface LeaseAnswer {
  readonly outcome: "written" | "refused";
  readonly record: TaskRecord;
}

/**
 * A lease that this process holds: the only writer of its record, one write at a time, each with its number. It is lost
 * when the store says so, or when wall **or** monotonic time passes the holder's deadline: the moment its last confirmed
 * write was sent + lease - margin.
 */
export interface Lease {
  readonly taskId: string;
  readonly token: string;
  readonly fence: number;
  /** The record as the last answer showed it. */
  readonly record: TaskRecord;
  /** Aborts with a {@link LeaseholdError} `LeaseLost` whose `details.reason` is the {@link AbortReason}. */
  readonly signal: AbortSignal;
  /** Aborts only when the lease is gone: for readbacks that belong to an end, after the handler was asked to stop. */
  readonly lostSignal: AbortSignal;
  readonly abortReason: AbortReason | undefined;
  /** Gone: nothing may be written. */
  readonly lost: boolean;
  /** Ended by a confirmed write. */
  readonly ended: boolean;
  /** Monotonic time at which the lease is lost unless a write is confirmed. */
  readonly deadlineMonotonic: number;
  /** Monotonic time at which the last confirmed write was sent. */
  readonly confirmedMonotonic: number;
  /** The length that the last confirmed write brought, ms. */
  readonly leaseMs: number;
  /** Resolves when the lease is lost. */
  readonly gone: Promise<void>;
  /** What is left of the holder's lease, by the stricter clock, ms. */
  remainingMs(): number;
  /** Throws `LeaseLost` when the lease is gone, now, by the clock. */
  assertLive(): void;
  /** Writes, with retries inside the lease. Throws `LeaseLost` when the lease is gone; other errors mean the write was refused as such. */
  write(write: LeaseWrite): Promise<LeaseAnswer>;
  /** Asks the handler to stop; the lease is still held. The first reason counts. */
  abort(reason: AbortReason): void;
  /** The lease is gone. */
  lose(reason: AbortReason): void;
}

export interface LeaseStart {
  readonly record: TaskRecord;
  readonly token: string;
  /** When the acquire was sent. */
  readonly sentWall: number;
  readonly sentMonotonic: number;
  readonly leaseMs: number;
  /** A confirmed write has brought a new deadline, which may be nearer than the last. */
  readonly onConfirm: () => void;
  readonly onAbort: (reason: AbortReason, lost: boolean) => void;
}

export function createLease(runtime: Runtime, start: LeaseStart): Lease {
  const { clock, entropy } = runtime;
  const controller = new AbortController();
  const lostController = new AbortController();
  let record = start.record;
  let seq = record.lease_seq ?? 0;
  let abortReason: AbortReason | undefined;
  let lost = false;
  let ended = false;
  let leaseMs = start.leaseMs;
  let confirmedMonotonic = start.sentMonotonic;
  let deadlineWall = 0;
  let deadlineMonotonic = 0;
  let turn: Promise<unknown> = Promise.resolve();
  let rejectWaiting: ((error: LeaseholdError) => void) | undefined;

  let markGone: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    markGone = resolve;
  });

  const confirm = (sentWall: number, sentMonotonic: number, lengthMs: number): void => {
    const heldMs = lengthMs - leaseMarginMs(lengthMs);
    leaseMs = lengthMs;
    confirmedMonotonic = sentMonotonic;
    deadlineWall = sentWall + heldMs;
    deadlineMonotonic = sentMonotonic + heldMs;
  };
  confirm(start.sentWall, start.sentMonotonic, start.leaseMs);

  const remainingMs = (): number => Math.min(deadlineWall - clock.now(), deadlineMonotonic - clock.monotonic());

  const lostError = (): LeaseholdError =>
    new LeaseholdError("LeaseLost", `the lease on task ${record.task_id} is gone (${abortReason ?? "ended"})`, {
      details: { reason: abortReason ?? "ended", task_id: record.task_id },
    });

  const abort = (reason: AbortReason): void => {
    if (abortReason !== undefined) return;
    abortReason = reason;
    controller.abort(lostError());
    start.onAbort(reason, lost);
  };

  const lose = (reason: AbortReason): void => {
    if (lost || ended) return;
    lost = true;
    if (abortReason === undefined) abort(reason);
    else start.onAbort(reason, true);
    lostController.abort(lostError());
    rejectWaiting?.(lostError());
    markGone();
  };

  const assertLive = (): void => {
    if (!lost && !ended && remainingMs() <= 0) lose("expired");
    if (lost || ended) throw lostError();
  };

  /** One try, ended early when the lease is lost meanwhile: whatever it brings is then of no use. */
  const tryOnce = (write: LeaseWrite, holderWrite: HolderWrite): Promise<HolderOutcome | Refused> => {
    const tryMs = Math.max(remainingMs() / 3, 50);
    return new Promise((resolve, reject) => {
      rejectWaiting = reject;
      within(clock, tryMs, write.doing, write.call(holderWrite)).then(resolve, reject);
    });
  };

  const attempt = async (write: LeaseWrite): Promise<LeaseAnswer> => {
    assertLive();
    const sentWall = clock.now();
    const sentMonotonic = clock.monotonic();
    seq += 1;
    const holderWrite: HolderWrite = {
      taskId: record.task_id,
      token: start.token,
      seq,
      at: sentWall,
      state: write.state(record),
    };
    for (let tries = 0; ; tries++) {
      try {
        const answer = await tryOnce(write, holderWrite);
        rejectWaiting = undefined;
        if (answer.outcome === "lost") {
          lose("taken_over");
          throw lostError();
        }
        if (lost) throw lostError();
        record = answer.record;
        if (answer.outcome === "written") {
          if (write.leaseMs === undefined) ended = true;
          else {
            confirm(sentWall, sentMonotonic, write.leaseMs);
            start.onConfirm();
          }
          if (!ended && record.cancel_requested_at !== undefined) abort("cancelled");
        }
        return { outcome: answer.outcome, record };
      } catch (error) {
        rejectWaiting = undefined;
        const failure = fromUnknown(error, write.doing);
        if (lost || failure.code === "LeaseLost") throw lost ? lostError() : failure;
        // What the store refuses for its content is refused again; everything else may pass while the lease lasts.
        if (failure.code === "InvalidArgument" || failure.code === "PayloadTooLarge") throw failure;
        runtime.telemetry.callFailed(write.doing, failure.code);
        await sleep(clock, Math.min(backoffMs(tries, 100, 2_000, entropy), Math.max(remainingMs() / 4, 10)));
        assertLive();
      }
    }
  };

  return {
    taskId: record.task_id,
    token: start.token,
    fence: record.fence,
    signal: controller.signal,
    lostSignal: lostController.signal,
    get record() {
      return record;
    },
    get abortReason() {
      return abortReason;
    },
    get lost() {
      return lost;
    },
    get ended() {
      return ended;
    },
    get deadlineMonotonic() {
      return deadlineMonotonic;
    },
    get confirmedMonotonic() {
      return confirmedMonotonic;
    },
    get leaseMs() {
      return leaseMs;
    },
    gone,
    remainingMs,
    assertLive,
    write(write) {
      const answer = turn.then(
        () => attempt(write),
        () => attempt(write),
      );
      turn = answer;
      return answer;
    },
    abort,
    lose,
  };
}
