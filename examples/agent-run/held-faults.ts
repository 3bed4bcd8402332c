import { setTimeout as pause } from "node:timers/promises";
import type { Client, TaskRecord, TaskStore } from "@leasehold/core";
import { formatTime } from "@leasehold/core/driver";
import { type FaultKind, HELD, type PlannedFault, subjectOf } from "./faults.ts";
import type { HeldAnswer } from "./ledger.ts";
import type { RunTask } from "./ledger-check.ts";
import { hasEnded } from "./run-watch.ts";
import type { StoreServer } from "./servers/dynamodb.ts";
import type { SystemProcess } from "./system-process.ts";
import type { ToolCall } from "./task-file.ts";
import type { WorkerProcesses } from "./worker-processes.ts";

/**
 * Carries out the faults that hit a worker process at a chosen moment: the external system has its request in hand, and holds the
 * answer. They come one at a time, in the order of the file.
 */
export interface HeldFaults {
  /** See `Setup`. */
  ready(call: ToolCall): Promise<void>;
  problems(tasks: readonly RunTask[]): readonly string[];
  /** Rejects when one of them could not be carried out. */
  readonly failed: Promise<never>;
  stop(): void;
}

export interface HeldFaultOptions {
  readonly calls: readonly ToolCall[];
  readonly plan: readonly PlannedFault[];
  readonly taskIdOf: (call: ToolCall) => string;
  readonly client: Client;
  readonly store: TaskStore;
  readonly system: SystemProcess;
  readonly cutOff: StoreServer["cutOff"];
  readonly workers: WorkerProcesses;
  /** The run as it was seen last. */
  readonly look: () => readonly RunTask[];
  /** Where a fault that has come to pass is added, with the task that it hit. */
  readonly happened: Map<FaultKind, string>;
}

/** `back`: the worker that was paused is at work again, and has no new task yet. */
interface State {
  readonly fault: PlannedFault;
  at: "to come" | "under way" | "back" | "over";
}

/** An answer that is held, and whether its handler still waits for it. */
interface Held {
  readonly answer: HeldAnswer;
  readonly taskId: string;
  /** The handler has given up: it was told that the lease is gone. */
  gone: boolean;
}

const LOOK_EVERY_MS = 100;
/**
 * Calls that are handed out while a worker is stopped; the others wait, so that it finds work when it is back. Enough that each worker's
 * open poll gets one, also that of the stopped worker: what it cannot take is another fault that must do no harm.
 */
const DURING_PAUSE = 5;
/** Of a write that must not count, ms. */
const LATE_LEASE_MS = 60_000;

export function createHeldFaults(options: HeldFaultOptions): HeldFaults {
  const { calls, client, store, system, workers } = options;
  const states: readonly State[] = options.plan
    .filter(({ kind }) => HELD[kind] !== undefined)
    .map((fault) => ({ fault, at: "to come" }));
  const problems: string[] = [];
  /** The record of the task whose worker was stopped, before that. */
  let paused: TaskRecord | undefined;
  let stopped = false;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
    while (!stopped && !(await condition())) await pause(LOOK_EVERY_MS);
  }

  const recordOf = async (taskId: string): Promise<TaskRecord> => {
    const record = await client.get(taskId);
    if (record === undefined) throw new Error(`${taskId} has no record`);
    return record;
  };

  /** Another lease was given out for the task. */
  const takenOver = (before: TaskRecord): Promise<void> =>
    until(async () => (await recordOf(before.task_id)).fence > before.fence);

  /** Does its worker still hold the task, so that the fault is about a lease? On a machine that stalls it may have lost it already. */
  const isHeldBy = ({ answer, gone }: Held, { status, lease_owner: owner = "" }: TaskRecord): boolean =>
    !gone && status === "leased" && owner.startsWith(`${answer.caller}@`);

  async function crash(kind: FaultKind, { answer, taskId }: Held): Promise<boolean> {
    await workers.kill(answer.caller);
    options.happened.set(kind, taskId);
    return true;
  }

  async function stopAndContinue(held: Held, state: State): Promise<boolean> {
    const { answer, taskId } = held;
    workers.pause(answer.caller);
    const before = await recordOf(taskId);
    if (!isHeldBy(held, before)) {
      workers.continue(answer.caller);
      return false;
    }
    paused = before;
    await takenOver(before);
    await writeLate(before);
    const backAt = formatTime(Date.now());
    workers.continue(answer.caller);
    await until(() => held.gone);
    state.at = "back";
    await until(() => options.look().some((task) => isWorkOf(before, task, backAt)));
    if (!stopped) options.happened.set("paused_worker", taskId);
    return true;
  }

  /** A write that the holder sent before it was stopped, and that arrives when its lease is another's. */
  async function writeLate({
    task_id: taskId,
    lease_token: token = "",
    lease_seq: seq = 0,
  }: TaskRecord): Promise<void> {
    const { outcome } = await store.renew({ taskId, token, seq: seq + 1, at: Date.now(), leaseMs: LATE_LEASE_MS });
    if (outcome !== "lost") problems.push(`${taskId}: a write of the lease before was ${outcome}, expected lost`);
  }

  async function loseRenewals(held: Held): Promise<boolean> {
    const before = await recordOf(held.taskId);
    if (!isHeldBy(held, before)) return false;
    const cut = options.cutOff(before.lease_token ?? "");
    await takenOver(before);
    cut.remove();
    if (cut.hits() === 0) return false;
    options.happened.set("lost_renewals", held.taskId);
    return true;
  }

  /** False: it could not be shown with this answer. */
  function perform(held: Held, state: State): Promise<boolean> {
    const { kind } = state.fault;
    if (kind === "paused_worker") return stopAndContinue(held, state);
    return kind === "lost_renewals" ? loseRenewals(held) : crash(kind, held);
  }

  async function carryOut(answer: HeldAnswer, gone: Promise<void>): Promise<void> {
    const state = states.find(({ fault }) => fault.kind === answer.name);
    if (state === undefined) throw new Error(`nobody planned ${answer.name}`);
    const { kind, call, spares } = state.fault;
    if (state.at === "to come" && workers.has(answer.caller)) {
      const hit = [call, ...spares].find((each) => subjectOf(HELD[kind] ?? "read", each) === answer.subject) ?? call;
      const held: Held = { answer, taskId: options.taskIdOf(hit), gone: false };
      void gone.then(() => {
        held.gone = true;
      });
      state.at = "under way";
      const done = await perform(held, state);
      // Not this time: the next attempt at the task asks again.
      state.at = done ? "over" : "to come";
    }
    system.letGo(answer);
  }

  /** All of them were seen, and have come to their end. */
  const haveEnded = (handedOut: readonly ToolCall[]): boolean => {
    const ended = options.look().filter(({ record }) => hasEnded(record));
    return handedOut.every((call) => ended.some((task) => task.call === call));
  };

  system.onHeld((answer, gone) => void carryOut(answer, gone).catch(fail));
  return {
    failed,
    async ready(call) {
      const index = calls.indexOf(call);
      const before = calls.slice(0, index);
      const isHeld = states.some(({ fault }) => fault.call === call);
      for (const state of states) {
        const after = index - calls.indexOf(state.fault.call);
        if (after <= 0) continue;
        // One at a time; a fault that does not come holds nothing back when all else is done.
        if (isHeld) await until(() => state.at === "over" || (state.at !== "under way" && haveEnded(before)));
        else if (state.fault.kind === "paused_worker" && after > DURING_PAUSE)
          await until(
            () => state.at === "back" || state.at === "over" || (state.at === "to come" && haveEnded(before)),
          );
      }
    },
    problems(tasks) {
      if (paused === undefined) return problems;
      const { task_id: taskId, fence } = paused;
      const record = tasks.find((task) => task.record?.task_id === taskId)?.record;
      const entry = record?.attempts.find((attempt) => attempt.fence === fence);
      if (entry === undefined || entry.how === "expired") return problems;
      return [...problems, `${taskId}: the attempt of the stopped worker is ${entry.how}, expected expired`];
    },
    stop() {
      stopped = true;
    },
  };
}

/** Did the worker that held `before` start on this task after `since`? */
function isWorkOf(before: TaskRecord, { record }: RunTask, since: string): boolean {
  const owner = before.lease_owner;
  if (record === undefined || record.task_id === before.task_id) return false;
  if (record.lease_owner === owner && (record.acquired_at ?? "") >= since) return true;
  return record.attempts.some((attempt) => attempt.owner === owner && attempt.from >= since);
}
