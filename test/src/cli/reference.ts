/**
 * `reference [server…] [--only TEXT]`: runs the suites on servers that others wrote, as far as this machine's toolchains can install
 * them: moto and LocalStack (Python), pstest (Go). Google's emulator, which is not installed by anybody's package, is a target of
 * `conformance`. What is missing is a skip with its reason. Known differences are declared, and have to show: a case that fails
 * undeclared has failed, and so has one that passes although declared. Exits with 1 then, with 2 when it was called wrongly.
 * `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { runServer } from "../reference/run.ts";
import { type ReferenceServer, referenceServers } from "../reference/servers.ts";
import { linesOf, problemsOf, summaryOf, totalsOf } from "../suite/report.ts";
import type { CaseResult, RunOptions } from "../suite/run.ts";

interface Arguments extends RunOptions {
  readonly servers: readonly ReferenceServer[];
}

function readArguments(): Arguments | undefined {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: "string" } } });
    const unknown = positionals.filter((name) => !referenceServers.some((server) => server.name === name));
    if (unknown.length > 0) throw new Error(`No such server: ${unknown.join(", ")}.`);
    const servers = referenceServers.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
    return { ...values, servers };
  } catch (error) {
    const names = referenceServers.map(({ name }) => name).join(", ");
    console.error(`${(error as Error).message}\nUsage: reference [server…] [--only TEXT]. There are: ${names}`);
    return undefined;
  }
}

async function runAll({ servers, ...options }: Arguments): Promise<readonly CaseResult[]> {
  const runs = servers.map(async (server) => {
    const startedMs = performance.now();
    const results = await runServer(server, options);
    for (const target of new Set(results.map((result) => result.target))) {
      const own = results.filter((result) => result.target === target);
      for (const line of linesOf(target, own)) console.log(line);
    }
    console.log(`${server.name}: ${Math.round((performance.now() - startedMs) / 1_000)} s`);
    return results;
  });
  return (await Promise.all(runs)).flat();
}

async function main(): Promise<number> {
  const chosen = readArguments();
  if (chosen === undefined) return 2;
  const all = await runAll(chosen);
  const summaryFile = process.env["LEASEHOLD_SUMMARY"];
  if (summaryFile) writeFileSync(summaryFile, JSON.stringify(summaryOf(all)));
  const { passed, failed, skipped } = totalsOf(all);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  const problems = problemsOf(all).filter((problem) => problem !== "no case was run");
  for (const problem of problems) if (!problem.startsWith("failed")) console.log(problem);
  return problems.length === 0 ? 0 : 1;
}

process.exitCode = await main();
