/**
 * Runs every suite, or those named as parameters, and closes with one summed line. Suites that wait more than they work run
 * beside the others, and are printed when they end. A suite tells its counts through the file that `LEASEHOLD_SUMMARY` names
 * (see summary.ts).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess } from "./run-process.ts";
import { type Suite, suites } from "./suites.ts";
import { closingLine, judge, readSummary, type Verdict } from "./summary.ts";

async function runSuite(suite: Suite, summaryFile: string): Promise<Verdict> {
  const title = `\n== ${suite.name}: ${suite.command.join(" ")}`;
  const env = { LEASEHOLD_SUMMARY: summaryFile };
  if (suite.beside !== true) console.log(title);
  const { code, output } = await runProcess(suite.command, { env, output: suite.beside ? "collect" : "stream" });
  if (suite.beside === true) console.log(`${title}\n${output.trimEnd()}`);
  if (suite.verdict === "exit-code") {
    const problems = code === 0 ? [] : [`exited with ${code}`];
    return { passed: code === 0 ? 1 : 0, failed: problems.length, skipped: 0, skips: [], problems };
  }
  return judge(readSummary(summaryFile), code);
}

if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  // A bare `node --test` takes this file for a test, and the run would start itself without end.
  console.error("scripts/test.ts is not a test file. Run `pnpm test`, or `pnpm unit` with the files you mean.");
  process.exit(2);
}

const names = process.argv.slice(2);
const unknown = names.filter((name) => !suites.some((suite) => suite.name === name));
if (unknown.length > 0) {
  console.error(`No such suite: ${unknown.join(", ")}. There are: ${suites.map((suite) => suite.name).join(", ")}`);
  process.exit(2);
}

const selected = suites.filter((suite) => names.length === 0 || names.includes(suite.name));

const folder = mkdtempSync(join(tmpdir(), "leasehold-test-"));

interface Result {
  readonly name: string;
  readonly verdict: Verdict;
}

/** One after the other. */
async function runAll(line: readonly Suite[]): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const suite of line) {
    results.push({ name: suite.name, verdict: await runSuite(suite, join(folder, `${suite.name}.json`)) });
  }
  return results;
}

const lines = [selected.filter(({ beside }) => !beside), selected.filter(({ beside }) => beside)];
const results = (await Promise.all(lines.map(runAll))).flat();
rmSync(folder, { recursive: true, force: true });

console.log("\n== summary");
for (const { name, verdict } of results) {
  console.log(`${name}: ${closingLine([verdict])}`);
  for (const problem of verdict.problems) console.log(`  failed: the suite ${problem}`);
  for (const skip of verdict.skips) console.log(`  skipped: ${skip.name}: ${skip.reason || "no reason given"}`);
}
console.log(closingLine(results.map((result) => result.verdict)));
process.exitCode = results.length > 0 && results.every((result) => result.verdict.failed === 0) ? 0 : 1;
