/**
 * Runs every suite, or those named as parameters, and closes with one summed line.
 * A suite tells its counts through the file that `LEASEHOLD_SUMMARY` names (see summary.ts).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess } from "./run-process.ts";
import { type Suite, suites } from "./suites.ts";
import { closingLine, judge, readSummary, type Verdict } from "./summary.ts";

async function runSuite(suite: Suite, summaryFile: string): Promise<Verdict> {
  console.log(`\n== ${suite.name}: ${suite.command.join(" ")}`);
  const { code } = await runProcess(suite.command, { env: { LEASEHOLD_SUMMARY: summaryFile }, output: "stream" });
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

const selected = suites
  // The next line goes when every suite is written.
  .filter((suite) => process.getBuiltinModule("fs").existsSync(`${import.meta.dirname}/../${suite.command[1]}`))
  .filter((suite) => names.length === 0 || names.includes(suite.name));

const folder = mkdtempSync(join(tmpdir(), "leasehold-test-"));
const results: { readonly name: string; readonly verdict: Verdict }[] = [];
for (const suite of selected) {
  results.push({ name: suite.name, verdict: await runSuite(suite, join(folder, `${suite.name}.json`)) });
}
rmSync(folder, { recursive: true, force: true });

console.log("\n== summary");
for (const { name, verdict } of results) {
  console.log(`${name}: ${closingLine([verdict])}`);
  for (const problem of verdict.problems) console.log(`  failed: the suite ${problem}`);
  for (const skip of verdict.skips) console.log(`  skipped: ${skip.name}: ${skip.reason || "no reason given"}`);
}
console.log(closingLine(results.map((result) => result.verdict)));
process.exitCode = results.length > 0 && results.every((result) => result.verdict.failed === 0) ? 0 : 1;
