/**
 * One agent's run under leases, with faults switched on, held against the other side's ledger at the end.
 *
 *   pnpm demo [--tasks FILE] [--provider NAME] [--seed NUMBER] [--plain]
 *
 * `--plain` prints a line per change instead of a live table. `--seed` chooses which tasks the faults hit. Exits with 1 when
 * a promise was broken or a planned fault did not come to pass, with 2 when it was called wrongly.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type AnyTask, createClient } from "@leasehold/core";
import { deriveTaskId } from "@leasehold/core/driver";
import { createCountingTelemetry } from "./counts.ts";
import { createExternalSystem } from "./external-system.ts";
import { type FaultKind, type PlannedFault, planFaults, systemFaults } from "./faults.ts";
import { startFleet } from "./fleet.ts";
import { createTasks } from "./handlers.ts";
import { createInjection } from "./injection.ts";
import type { Ledger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";
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
  const plan = planFaults({ calls, random: entropy.random, everyMs, recoverAfterMs: RECOVER_AFTER_MS });
  const runId = `run-${seed}-${entropy.token().slice(0, 8)}`;
  const keyOf = (call: { readonly key: string }): string => `${runId}/${call.key}`;

  const system = await startSystem(systemFaults(plan));
  const tasks: readonly AnyTask[] = createTasks(createExternalSystem(system.url));
  const [queue, store] = [await provider.openQueue(), await provider.openStore()];
  const taskIdOf = (call: { readonly key: string; readonly type: string }): string =>
    deriveTaskId(queue.queue, call.type, keyOf(call));
  const injection = createInjection(
    new Map(
      plan.map(({ kind, call, spares }): [FaultKind, readonly string[]] => [kind, [call, ...spares].map(taskIdOf)]),
    ),
  );
  const counting = createCountingTelemetry();
  const client = createClient({
    queue: injection.forClient(queue),
    store,
    recoverAfter: RECOVER_AFTER_MS,
    telemetry: counting.telemetry,
  });
  const fleet = await startFleet({
    provider,
    injection,
    tasks,
    telemetry: counting.telemetry,
    entropy,
    recoverAfterMs: RECOVER_AFTER_MS,
  });
  try {
    const enqueueAll = async (): Promise<void> => {
      for (const call of calls) {
        const definition = tasks.find((task) => task.type === call.type);
        if (definition === undefined) throw new Error(`${call.key}: no handler for ${call.type}`);
        await client.enqueue(definition, call.input, { key: keyOf(call), agentRunId: runId });
        await pause(everyMs);
      }
    };
    const progress =
      plain || !process.stdout.isTTY ? createPlainProgress(process.stdout) : createLiveProgress(process.stdout);
    const watching = watchRun({
      client,
      runId,
      calls,
      taskIdOf,
      elapsedMs,
      patienceMs: PATIENCE_MS,
      show: progress.show,
    });
    const [ended] = await Promise.race([Promise.all([watching, enqueueAll()]), fleet.failed]);
    await fleet.stop();
    const ledger = await system.ledger();
    const report: Report = {
      ...counting,
      tasks: ended,
      hits: hitsOf(plan, ledger, (kind) => calls.find((call) => taskIdOf(call) === injection.happened.get(kind))),
      ledger,
      verdict: checkLedger(ended, ledger),
      workerDeaths: fleet.deaths,
      elapsedMs: elapsedMs(),
    };
    return conclude(report);
  } finally {
    await fleet.stop();
    await system.stop();
    await queue.close();
    await store.close();
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

// pnpm runs scripts in the root of the repository; a path means the folder that the command was typed in.
const read = readOptions(process.argv.slice(2), process.env["INIT_CWD"] ?? process.cwd());
if (read.ok) {
  process.exitCode = (await demo(read.options)) ? 0 : 1;
} else {
  for (const problem of read.problems) console.error(problem);
  process.exitCode = 2;
}
