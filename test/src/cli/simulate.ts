/**
 * `simulate [--seeds N] [--seed S] [--threads T]`: plays N runs, from seed S on (1 when it is not given), and checks the invariants
 * after each. A failure is shrunk and printed with its event log. Exits with 1 when an invariant was broken, or when a kind
 * of fault never occurred in 1,000 seeds or more. `LEASEHOLD_SUMMARY` names a file for the counts: one for each invariant, and one
 * for the faults.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { simulateMany } from "../simulation/many.ts";
import { deadKinds, failureLines, INVARIANTS, linesOf } from "../simulation/report.ts";
import { simulate } from "../simulation/run.ts";
import { shrink } from "../simulation/shrink.ts";

const SEEDS_FOR_ALL_KINDS = 1_000;

function numberOf(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  console.error(`--${name}: got ${JSON.stringify(text)}, expected a whole number from 1 up`);
  process.exit(2);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { seeds: { type: "string" }, seed: { type: "string" }, threads: { type: "string" } },
  });
  const first = numberOf(values.seed, "seed", 1);
  const seeds = numberOf(values.seeds, "seeds", values.seed === undefined ? 1_000 : 1);
  const threads = numberOf(values.threads, "threads", Math.min(availableParallelism(), Math.ceil(seeds / 100)));

  const started = performance.now();
  const totals = await simulateMany(first, seeds, threads);
  const seconds = (performance.now() - started) / 1_000;
  console.log(
    `${totals.runs} runs from seed ${first} in ${seconds.toFixed(1)} s: ${(totals.runs / seconds).toFixed(0)} runs per second, ` +
      `${(totals.coveredMs / 3_600_000).toFixed(1)} hours of simulated time`,
  );
  for (const line of linesOf(totals)) console.log(line);

  const [failure] = totals.failures;
  if (failure !== undefined) {
    for (const { seed, invariant, text } of totals.failures)
      console.log(`failed: seed ${seed}: invariant ${invariant}: ${text}`);
    for (const line of failureLines(await shrink(await simulate(failure.seed)))) console.log(line);
  }
  const dead = seeds >= SEEDS_FOR_ALL_KINDS && failure === undefined ? deadKinds(totals) : [];
  for (const kind of dead) console.log(`failed: ${kind} never happened`);

  const broken = new Set(totals.failures.map(({ invariant }) => invariant));
  const failed = broken.size + (dead.length > 0 ? 1 : 0);
  const passed = Object.keys(INVARIANTS).length + 1 - failed;
  console.log(`${passed} passed, ${failed} failed`);
  const summaryFile = process.env["LEASEHOLD_SUMMARY"];
  if (summaryFile) writeFileSync(summaryFile, JSON.stringify({ passed, failed, skipped: 0, skips: [] }));
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
