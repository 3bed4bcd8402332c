/**
 * `conformance [target…] [--json FILE] [--only TEXT] [--endpoint URL] [--connection-string TEXT]`: runs the suites on targets, all
 * of them when none is named; a name also selects its variants (`memory` is `memory` and `memory/…`). `--endpoint` names the
 * server to use instead of an embedded one, for targets that have one (LocalStack, moto, an emulator of Pub/Sub); `aws` is the
 * account that the environment names, `gcp` the project (`GOOGLE_CLOUD_PROJECT`). `--connection-string` does the same for Service
 * Bus: of a namespace, or of Microsoft's emulator. Exits with 1 when something failed or was skipped without a reason, with 2 when
 * it was called wrongly. `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { linesOf, problemsOf, summaryOf, totalsOf } from "../suite/report.ts";
import { type CaseResult, type RunOptions, runTarget, type Target } from "../suite/run.ts";
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

interface Arguments extends RunOptions {
  readonly names: readonly string[];
  readonly json?: string;
}

const USAGE = "Usage: conformance [target…] [--json FILE] [--only TEXT] [--endpoint URL] [--connection-string TEXT]";

function readArguments(): Arguments | undefined {
  const text = { type: "string" } as const;
  try {
    const options = { json: text, only: text, endpoint: text, "connection-string": text };
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const { "connection-string": connectionString, ...others } = values;
    return { ...others, ...(connectionString !== undefined && { connectionString }), names: positionals };
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    return undefined;
  }
}

async function main(): Promise<number> {
  const values = readArguments();
  if (values === undefined) return 2;
  const selected = selectedTargets(values.names);
  if (selected === undefined) return 2;
  const all: CaseResult[] = [];
  const reports: unknown[] = [];
  for (const target of selected) {
    const results = await runTarget(target, values);
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

// SDKs keep timers for calls whose answer was lost, for up to a minute: nothing of this run waits for them.
process.exit(await main());
