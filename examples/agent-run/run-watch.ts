import { setTimeout as pause } from "node:timers/promises";
import type { Client, TaskRecord } from "@leasehold/core";
import type { RunTask } from "./ledger-check.ts";
import type { Snapshot } from "./progress.ts";
import type { ToolCall } from "./task-file.ts";

export interface RunWatch {
  readonly client: Client;
  readonly runId: string;
  readonly calls: readonly ToolCall[];
  readonly taskIdOf: (call: ToolCall) => string;
  readonly elapsedMs: () => number;
  /** After this long, ms, what has not ended is reported as it stands. */
  readonly patienceMs: number;
  readonly show: (snapshot: Snapshot) => void;
}

const LOOK_EVERY_MS = 200;
const ENDS: ReadonlySet<string> = new Set(["settled", "parked", "dead_lettered", "cancelled"]);

/** Shows the run until every task has ended; resolves with how they ended. */
export async function watchRun(watch: RunWatch): Promise<readonly RunTask[]> {
  for (;;) {
    const records = await recordsOf(watch.client, watch.runId);
    const tasks = watch.calls.map((call) => ({ call, key: call.key, record: records.get(watch.taskIdOf(call)) }));
    watch.show({ tasks, now: Date.now(), elapsedMs: watch.elapsedMs() });
    if (tasks.every(({ record }) => record !== undefined && ENDS.has(record.status))) return tasks;
    if (watch.elapsedMs() > watch.patienceMs) return tasks;
    await pause(LOOK_EVERY_MS);
  }
}

async function recordsOf(client: Client, runId: string): Promise<ReadonlyMap<string, TaskRecord>> {
  const records = new Map<string, TaskRecord>();
  let cursor: string | undefined;
  do {
    const page = await client.listByRun(runId, cursor === undefined ? {} : { cursor });
    for (const record of page.items) records.set(record.task_id, record);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return records;
}
