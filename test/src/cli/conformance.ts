/**
 * `conformance [target…] [--json FILE] [--only TEXT]`: runs the suites on targets, all of them when none is named; a name also
 * selects its variants (`memory` is `memory` and `memory/…`). Exits with 1 when something failed or was skipped without a
 * reason, with 2 when it was called wrongly. `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { linesOf, problemsOf, summaryOf, totalsOf } from "../suite/report.ts";
import { type CaseResult, runTarget, type Target } from "../suite/run.ts";
import { targets } from "../targets/all.ts";

function selectedTargets(names: readonly string[]): readonly Target[] | undefined {
  const matches = (target: Target, name: string): boolean => target.name === name || target.name.startsWith(`${name}/`);
  const unknown = names.filter((name) => !targets.some((target) => matches(target, name)));
  if (unknown.length > 0) {
    console.error(
      `No such target: ${unknown.join(", ")}. There are: ${targets.map((target) => target.name).join(", ")}`,
    );
    return undefined;
  }
  return targets.filter((target) => names.length === 0 || names.some((name) => matches(target, name)));
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "string" }, only: { type: "string" } },
  });
  const selected = selectedTargets(positionals);
  if (selected === undefined) return 2;
  const all: CaseResult[] = [];
  const reports: unknown[] = [];
  for (const target of selected) {
    const results = await runTarget(target, values.only === undefined ? {} : { only: values.only });
    for (const line of linesOf(target.name, results)) console.log(line);
    all.push(...results);
    reports.push({ target: target.name, ...totalsOf(results), cases: results });
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ targets: reports }, undefined, 2)}\n`);
  const summaryFile = process.env["LEASEHOLD_SUMMARY"];
  if (summaryFile) writeFileSync(summaryFile, JSON.stringify(summaryOf(all)));
  const { passed, failed, skipped } = totalsOf(all);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  const problems = problemsOf(all);
  for (const problem of problems) if (!problem.startsWith("failed")) console.log(problem);
  return problems.length === 0 ? 0 : 1;
}

process.exitCode = await main();
