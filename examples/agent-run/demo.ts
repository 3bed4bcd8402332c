/**
 * One agent's run under leases, with faults switched on, held against the other side's ledger at the end.
 *
 *   pnpm demo [--tasks FILE] [--provider NAME] [--seed NUMBER] [--plain]
 *
 * `--provider` is `memory`, where workers are parts of this process, or a queue service (`sqs`, `pubsub`, `servicebus`), where they are processes of their
 * own beside servers of that service and of DynamoDB; or `all`: the same run on each, with the faults that must leave the same records
 * everywhere, and the records side by side. `--plain` prints a line per change instead of a live table. `--seed` chooses which tasks
 * the faults hit. Exits with 1 when a promise was broken, a planned fault did not come to pass, or records differ; with 2 when it was
 * called wrongly.
 */
import type { Entropy } from "@leasehold/core";
import { COMPARED, type ComparedRun, compareRuns } from "./compare.ts";
import { planComparison } from "./comparison-plan.ts";
import { planFaults } from "./faults.ts";
import { type DemoOptions, readOptions } from "./options.ts";
import { seconds } from "./progress.ts";
import type { Provider } from "./providers.ts";
import { seededEntropy } from "./random.ts";
import { faultLines, type Report, reportLines, verdictLine } from "./report.ts";
import { enqueueEveryMs, RECOVER_AFTER_MS, runOn } from "./run.ts";
import { sideBySide } from "./side-by-side.ts";

const LEASE_MS = 2_000;
/** In a comparison a machine that stalls must not look like a provider that differs, ms. */
const COMPARED_LEASE_MS = 5_000;

const WHAT_IS_COMPARED = [
  `Each run had these faults, the same ids, and leases of ${seconds(COMPARED_LEASE_MS)}. The crashes came first and alone, so that no neighbour lost an attempt by chance;`,
  "no worker was stopped and no renewal lost, because how far an attempt comes then is chance as well. `--provider` with one name has all of that.",
  `Compared are ${COMPARED.join(", ")}, with all that is in them but times, traces and fences.`,
];

const runIdOf = (seed: number, entropy: Entropy): string => `run-${seed}-${entropy.token().slice(0, 8)}`;

async function demoOne(provider: Provider, { calls, plain, seed }: DemoOptions): Promise<boolean> {
  const entropy = seededEntropy(seed);
  const plan = planFaults({
    calls,
    kinds: provider.faults,
    random: entropy.random,
    everyMs: enqueueEveryMs(calls),
    recoverAfterMs: RECOVER_AFTER_MS,
  });
  const { report } = await runOn({
    calls,
    plan,
    held: provider.heldFaults,
    crashes: "spread",
    leaseMs: LEASE_MS,
    provider,
    runId: runIdOf(seed, entropy),
    entropy,
    plain,
  });
  console.log(["", ...reportLines(report), ""].join("\n"));
  return conclude(report);
}

async function demoAll({ calls, providers, plain, seed }: DemoOptions): Promise<boolean> {
  const entropy = seededEntropy(seed);
  const plan = planComparison({
    calls,
    random: entropy.random,
    everyMs: enqueueEveryMs(calls),
    recoverAfterMs: RECOVER_AFTER_MS,
  });
  // The same for each: it is part of the ids, and of all that is made from them.
  const runId = runIdOf(seed, entropy);
  const runs: ComparedRun[] = [];
  let faults: readonly string[] = [];
  let kept = true;
  for (const provider of providers) {
    console.log(`\n== ${provider.name}`);
    const { report, tasks } = await runOn({
      ...plan,
      crashes: "first",
      leaseMs: COMPARED_LEASE_MS,
      provider,
      runId,
      entropy,
      plain,
    });
    faults = faultLines(report);
    kept = conclude(report) && kept;
    runs.push({ provider: provider.name, tasks });
  }
  const differences = compareRuns(runs);
  console.log(["", ...faults, "", ...WHAT_IS_COMPARED, "", ...sideBySide(runs, differences)].join("\n"));
  return kept && differences.length === 0;
}

/** Prints what was broken, and the verdict. True: every promise was kept. */
function conclude(report: Report): boolean {
  const missed = report.hits.filter((fault) => !fault.happened);
  for (const problem of report.verdict.problems) console.log(`broken: ${problem}`);
  for (const { kind, call } of missed)
    console.log(
      `broken: the fault ${kind}, planned for ${call.key}, did not come to pass, so the run proves less than it should`,
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
  const { providers } = read.options;
  const [provider, ...others] = providers;
  const kept = provider !== undefined && others.length === 0 ? demoOne(provider, read.options) : demoAll(read.options);
  process.exitCode = (await kept) ? 0 : 1;
} else {
  for (const problem of read.problems) console.error(problem);
  process.exitCode = 2;
}
