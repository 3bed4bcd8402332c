import { setTimeout as pause } from "node:timers/promises";
import type { Client, TaskRecord } from "@leasehold/core";
import type { RunTask } from "./ledger-check.ts";
import type { Snapshot } from "./progress.ts";
import type { ToolCall } from "./task-file.ts";

export interface RunWatch {
  readonly client: Client;
  readonly calls: readonly ToolCall[];
  /** Was it handed out? Others have no record yet. */
  readonly isOut: (call: ToolCall) => boolean;
  readonly taskIdOf: (call: ToolCall) => string;
  readonly elapsedMs: () => number;
  /** After this long, ms, what has not ended is reported as it stands. */
  readonly patienceMs: number;
  readonly show: (snapshot: Snapshot & { readonly tasks: readonly RunTask[] }) => void;
}

const LOOK_EVERY_MS = 200;
const ENDS: ReadonlySet<string> = new Set(["settled", "parked", "dead_lettered", "cancelled"]);

/** Does it stay as it is? */
export function hasEnded(record: TaskRecord | undefined): boolean {
  return record !== undefined && ENDS.has(record.status);
}

/** Shows the run until every task has ended; resolves with how they ended. */
export async function watchRun(watch: RunWatch): Promise<readonly RunTask[]> {
  const records = new Map<ToolCall, TaskRecord | undefined>();
  const look = async (call: ToolCall): Promise<void> => {
    if (watch.isOut(call) && !hasEnded(records.get(call)))
      records.set(call, await watch.client.get(watch.taskIdOf(call)));
  };
  for (;;) {
    const beganMs = watch.elapsedMs();
    await Promise.all(watch.calls.map(look));
    const tasks = watch.calls.map((call) => ({ call, key: call.key, record: records.get(call) }));
    watch.show({ tasks, now: Date.now(), elapsedMs: watch.elapsedMs() });
    if (tasks.every(({ record }) => hasEnded(record)) || watch.elapsedMs() > watch.patienceMs) return tasks;
    // At most a quarter of the time is spent looking: a machine that is slow has other things to do.
    await pause(Math.max(LOOK_EVERY_MS, 3 * (watch.elapsedMs() - beganMs)));
  }
}
