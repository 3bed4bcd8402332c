/**
 * One agent's run under leases, with faults switched on, held against the other side's ledger at the end.
 *
 *   pnpm demo [--tasks FILE] [--provider NAME] [--seed NUMBER] [--plain]
 *
 * `--provider` is `memory`, where workers are parts of this process, or `sqs`, where they are processes of their own beside an SQS and a DynamoDB
 * server. `--plain` prints a line per change instead of a live table. `--seed` chooses which tasks the faults hit. Exits with 1 when
 * a promise was broken or a planned fault did not come to pass, with 2 when it was called wrongly.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type AnyTask, createClient, type QueueDriver } from "@leasehold/core";
import { deriveTaskId } from "@leasehold/core/driver";
import { createCountingTelemetry, createTally } from "./counts.ts";
import { createExternalSystem } from "./external-system.ts";
import { type FaultKind, type PlannedFault, planFaults, systemFaults } from "./faults.ts";
import { createTasks } from "./handlers.ts";
import type { Ledger } from "./ledger.ts";
import { checkLedger, type RunTask } from "./ledger-check.ts";
import { type DemoOptions, readOptions } from "./options.ts";
import { createLiveProgress, createPlainProgress } from "./progress.ts";
import { seededEntropy } from "./random.ts";
import { type FaultHit, type Report, reportLines, verdictLine } from "./report.ts";
import { watchRun } from "./run-watch.ts";
import { startSystem } from "./system-process.ts";
import type { ToolCall } from "./task-file.ts";

/** The same for client and workers; the default is 5 min. */
const RECOVER_AFTER_MS = 2_000;
/** The agent hands out its calls over about this long, ms. */
const ENQUEUE_MS = 5_000;
const MAX_EVERY_MS = 200;
/** A run that has not ended after this has failed, ms. */
const PATIENCE_MS = 120_000;

async function demo({ calls, provider, plain, seed }: DemoOptions): Promise<boolean> {
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const entropy = seededEntropy(seed);
  const everyMs = Math.min(ENQUEUE_MS / calls.length, MAX_EVERY_MS);
  const plan = planFaults({
    calls,
    kinds: provider.faults,
    random: entropy.random,
    everyMs,
    recoverAfterMs: RECOVER_AFTER_MS,
  });
  const runId = `run-${seed}-${entropy.token().slice(0, 8)}`;
  const keyOf = (call: { readonly key: string }): string => `${runId}/${call.key}`;
  const taskIdOf = (queue: QueueDriver, call: { readonly key: string; readonly type: string }): string =>
    deriveTaskId(queue.queue, call.type, keyOf(call));
  const tally = createTally();
  const out = new Set<ToolCall>();
  let seen: readonly RunTask[] = [];

  const system = await startSystem(systemFaults(plan, new Set(provider.heldFaults)));
  const tasks: readonly AnyTask[] = createTasks(createExternalSystem(system.url, "agent"));
  const setup = await provider
    .open({
      calls,
      plan,
      taskIdOf,
      tasks,
      system,
      tally,
      entropy,
      recoverAfterMs: RECOVER_AFTER_MS,
      look: () => seen,
    })
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
    const enqueueAll = async (): Promise<void> => {
      for (const call of calls) {
        const definition = tasks.find((task) => task.type === call.type);
        if (definition === undefined) throw new Error(`${call.key}: no handler for ${call.type}`);
        await setup.ready(call);
        await client.enqueue(definition, call.input, { key: keyOf(call), agentRunId: runId });
        out.add(call);
        await pause(everyMs);
      }
    };
    const progress =
      plain || !process.stdout.isTTY ? createPlainProgress(process.stdout) : createLiveProgress(process.stdout);
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
    const report: Report = {
      ...tally.counts,
      tasks: ended,
      hits: hitsOf(plan, ledger, (kind) =>
        calls.find((call) => taskIdOf(setup.queue, call) === setup.happened.get(kind)),
      ),
      ledger,
      verdict: { ...verdict, problems: [...verdict.problems, ...setup.problems(ended)] },
      workerDeaths: setup.deaths,
      elapsedMs: elapsedMs(),
    };
    return conclude(report);
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

/** Prints the report; the verdict is the last line. True: every promise was kept. */
function conclude(report: Report): boolean {
  const missed = report.hits.filter((fault) => !fault.happened);
  console.log(["", ...reportLines(report), ""].join("\n"));
  for (const problem of report.verdict.problems) console.log(`broken: ${problem}`);
  if (missed.length > 0)
    console.log(
      `broken: ${missed.length} of the planned faults did not come to pass, so the run proves less than it should`,
    );
  console.log(verdictLine(report));
  return report.verdict.problems.length === 0 && missed.length === 0;
}

// What was started ends with this process, also when somebody ends it: see `exit` in worker-processes.ts.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));

// pnpm runs scripts in the root of the repository; a path means the folder that the command was typed in.
const read = readOptions(process.argv.slice(2), process.env["INIT_CWD"] ?? process.cwd());
if (read.ok) {
  process.exitCode = (await demo(read.options)) ? 0 : 1;
} else {
  for (const problem of read.problems) console.error(problem);
  process.exitCode = 2;
}
