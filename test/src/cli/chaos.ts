/**
 * `chaos [--provider P] [--minutes M] [--seed S]`: worker processes on an embedded broker and DynamoDB, by way of proxies, while
 * processes are killed and stopped, connections break, freeze and slow down, servers restart and throttle, and clocks differ. A book
 * that no worker can change shows afterwards whether the invariants held. Without a provider: all, one after the other; a minute
 * each. Exits with 1 when an invariant was broken, or a kind of fault never occurred. `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { JUDGED } from "../chaos/judge.ts";
import { providers } from "../chaos/providers.ts";
import { type ChaosReport, runChaos } from "../chaos/run.ts";

const MINUTE_MS = 60_000;
/** Findings of a run that are printed. */
const SHOWN = 20;

function numberOf(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  console.error(`--${name}: got ${JSON.stringify(text)}, expected a number above 0`);
  process.exit(2);
}

function print(
  provider: string,
  { tasks, byStatus, byHow, runs, retries, repeats, made, deaths, storm, outside, findings }: ChaosReport,
): void {
  const pairs = (counts: Iterable<readonly [string, number]>): string =>
    [...counts].map(([name, count]) => `${name} ${count}`).join(", ");
  console.log(
    `${provider}: ${tasks} tasks (${pairs(byStatus)}), ${runs} runs, ${retries} retries, ${made} effects, ${deaths} processes killed`,
  );
  console.log(`  attempts: ${pairs(byHow)}; ${repeats} messages outlived their tasks`);
  console.log(`  storm: ${pairs(storm)}`);
  console.log(`  outside: ${pairs(Object.entries(outside))}`);
  for (const { invariant, text } of findings.slice(0, SHOWN)) console.log(`  failed: invariant ${invariant}: ${text}`);
  if (findings.length > SHOWN) console.log(`  failed: and ${findings.length - SHOWN} more`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { provider: { type: "string" }, minutes: { type: "string" }, seed: { type: "string" } },
  });
  const names = values.provider === undefined ? Object.keys(providers) : [values.provider];
  if (names.some((name) => providers[name] === undefined)) {
    console.error(
      `--provider: got ${JSON.stringify(values.provider)}, expected one of ${Object.keys(providers).join(", ")}`,
    );
    return 2;
  }
  const stormMs = numberOf(values.minutes, "minutes", 1) * MINUTE_MS;
  const seed = numberOf(values.seed, "seed", 1);
  let passed = 0;
  let failed = 0;
  for (const provider of names) {
    const report = await runChaos({ provider, stormMs, seed });
    print(provider, report);
    const broken = new Set(report.findings.map(({ invariant }) => invariant)).size;
    const dead = [...report.storm].filter(([, count]) => count === 0).map(([kind]) => kind);
    for (const kind of dead) console.log(`  failed: ${kind} never happened`);
    failed += broken + (dead.length > 0 ? 1 : 0);
    passed += Object.keys(JUDGED).length - broken + (dead.length > 0 ? 0 : 1);
  }
  console.log(`${passed} passed, ${failed} failed`);
  const summaryFile = process.env["LEASEHOLD_SUMMARY"];
  if (summaryFile) writeFileSync(summaryFile, JSON.stringify({ passed, failed, skipped: 0, skips: [] }));
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
