import { setTimeout as pause } from "node:timers/promises";
import { type AnyTask, createClient, type Entropy, type QueueDriver } from "@leasehold/core";
import { deriveTaskId } from "@leasehold/core/driver";
import type { ComparedTask } from "./compare.ts";
import { createCountingTelemetry, createTally } from "./counts.ts";
import { createExternalSystem } from "./external-system.ts";
import { type FaultKind, type PlannedFault, systemFaults } from "./faults.ts";
import { createTasks } from "./handlers.ts";
import type { Ledger } from "./ledger.ts";
import { checkLedger, type RunTask } from "./ledger-check.ts";
import { createLiveProgress, createPlainProgress } from "./progress.ts";
import type { Provider } from "./providers.ts";
import type { FaultHit, Report } from "./report.ts";
import { watchRun } from "./run-watch.ts";
import type { SetupOptions } from "./setup.ts";
import { startSystem } from "./system-process.ts";
import type { ToolCall } from "./task-file.ts";

/** The same for client and workers; the default is 5 min. */
export const RECOVER_AFTER_MS = 2_000;
/** The agent hands out its calls over about this long, ms. */
const ENQUEUE_MS = 5_000;
const MAX_EVERY_MS = 200;
/** A run that has not ended after this has failed, ms. */
const PATIENCE_MS = 120_000;

export interface RunOptions extends Pick<SetupOptions, "calls" | "plan" | "leaseMs" | "crashes"> {
  readonly provider: Provider;
  /** The faults for which the external system holds an answer. */
  readonly held: readonly FaultKind[];
  /** Part of the keys, and so of the ids, of its tasks. */
  readonly runId: string;
  readonly entropy: Entropy;
  readonly plain: boolean;
}

export interface RunOutcome {
  readonly report: Report;
  /** What a run on another provider is compared with. */
  readonly tasks: readonly ComparedTask[];
}

/** Time between two calls that are handed out, ms. */
export function enqueueEveryMs(calls: readonly ToolCall[]): number {
  return Math.min(ENQUEUE_MS / calls.length, MAX_EVERY_MS);
}

/** One agent's run on one provider, from the first call that is handed out to the last one that has ended. */
export async function runOn(options: RunOptions): Promise<RunOutcome> {
  const { calls, plan, provider, runId, leaseMs } = options;
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const keyOf = (call: { readonly key: string }): string => `${runId}/${call.key}`;
  const taskIdOf = (queue: QueueDriver, call: ToolCall): string => deriveTaskId(queue.queue, call.type, keyOf(call));
  const tally = createTally();
  const out = new Set<ToolCall>();
  let seen: readonly RunTask[] = [];

  const system = await startSystem(systemFaults(plan, new Set(options.held)));
  const setup = await provider
    .open({ ...options, taskIdOf, system, tally, recoverAfterMs: RECOVER_AFTER_MS, look: () => seen })
    .catch(async (error: unknown) => {
      await system.stop();
      throw error;
    });
  try {
    const client = createClient({
      queue: setup.queue,
      store: setup.store,
      recoverAfter: RECOVER_AFTER_MS,
      telemetry: createCountingTelemetry(tally.add),
    });
    const tasks: readonly AnyTask[] = createTasks(createExternalSystem(system.url, "agent"), leaseMs);
    const enqueueAll = async (): Promise<void> => {
      for (const call of calls) {
        const definition = tasks.find((task) => task.type === call.type);
        if (definition === undefined) throw new Error(`${call.key}: no handler for ${call.type}`);
        await setup.ready(call);
        await client.enqueue(definition, call.input, { key: keyOf(call), agentRunId: runId });
        out.add(call);
        await pause(enqueueEveryMs(calls));
      }
    };
    const isTable = !options.plain && process.stdout.isTTY;
    const progress = isTable ? createLiveProgress(process.stdout) : createPlainProgress(process.stdout);
    const watching = watchRun({
      client,
      calls,
      isOut: (call) => out.has(call),
      taskIdOf: (call) => taskIdOf(setup.queue, call),
      elapsedMs,
      patienceMs: PATIENCE_MS,
      show(snapshot) {
        seen = snapshot.tasks;
        progress.show(snapshot);
      },
    });
    // The watch ends when every call has; without its patience a fault that does not come could hold back the calls for ever.
    const ended = await Promise.race([watching, enqueueAll().then(() => watching), setup.failed]);
    await setup.stopWorkers();
    const ledger = await system.ledger();
    const verdict = checkLedger(ended, ledger);
    const callOf = (taskId: string | undefined): ToolCall | undefined =>
      calls.find((call) => taskIdOf(setup.queue, call) === taskId);
    return {
      report: {
        ...tally.counts,
        tasks: ended,
        hits: hitsOf(plan, ledger, (kind) => callOf(setup.happened.get(kind))),
        ledger,
        verdict: { ...verdict, problems: [...verdict.problems, ...setup.problems(ended)] },
        workerDeaths: setup.deaths,
        elapsedMs: elapsedMs(),
      },
      tasks: await Promise.all(
        ended.map(async ({ call: { key }, record }) => ({
          key,
          record,
          result: record?.status === "settled" ? await setup.store.result(record) : undefined,
        })),
      ),
    };
  } finally {
    await setup.stopWorkers();
    await setup.close();
    await system.stop();
  }
}

/** The task that each fault hit; none for one that did not come to pass. */
function hitsOf(
  plan: readonly PlannedFault[],
  { faults }: Ledger,
  injected: (kind: FaultKind) => ToolCall | undefined,
): readonly FaultHit[] {
  return plan.map(({ kind, call }) => {
    if (kind === "hung_call") return { kind, call, happened: faults.hang > 0 };
    if (kind === "lost_answer") return { kind, call, happened: faults.drop_answer > 0 };
    const hit = injected(kind);
    return { kind, call: hit ?? call, happened: hit !== undefined };
  });
}
