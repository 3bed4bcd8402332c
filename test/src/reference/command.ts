import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { linesOf, problemsOf, summaryOf, totalsOf } from "../suite/report.ts";
import type { CaseResult, RunOptions } from "../suite/run.ts";
import { runServer } from "./run.ts";
import type { ReferenceServer } from "./servers.ts";

interface Arguments extends RunOptions {
  readonly servers: readonly ReferenceServer[];
}

/**
 * A command line on servers: their names, all when none is given, and `--only TEXT`. Runs them at the same time and prints what
 * became of their cases. Answers the exit code: 1 when something failed, 2 when it was called wrongly. `LEASEHOLD_SUMMARY` names a
 * file for the counts.
 */
export async function runCommand(
  command: string,
  servers: readonly ReferenceServer[],
  parameters: readonly string[] = process.argv.slice(2),
): Promise<number> {
  const chosen = readArguments(command, servers, parameters);
  if (chosen === undefined) return 2;
  const all = await runAll(chosen);
  const summaryFile = process.env["LEASEHOLD_SUMMARY"];
  if (summaryFile) writeFileSync(summaryFile, JSON.stringify(summaryOf(all)));
  const { passed, failed, skipped } = totalsOf(all);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  // Where every toolchain is missing no case was run, and that is said of each server.
  const problems = problemsOf(all).filter((problem) => problem !== "no case was run");
  for (const problem of problems) if (!problem.startsWith("failed")) console.log(problem);
  return problems.length === 0 ? 0 : 1;
}

function readArguments(
  command: string,
  all: readonly ReferenceServer[],
  parameters: readonly string[],
): Arguments | undefined {
  try {
    const options = { only: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ args: [...parameters], allowPositionals: true, options });
    const unknown = positionals.filter((name) => !all.some((server) => server.name === name));
    if (unknown.length > 0) throw new Error(`No such server: ${unknown.join(", ")}.`);
    return { ...values, servers: all.filter(({ name }) => positionals.length === 0 || positionals.includes(name)) };
  } catch (error) {
    const names = all.map(({ name }) => name).join(", ");
    console.error(`${(error as Error).message}\nUsage: ${command} [server…] [--only TEXT]. There are: ${names}`);
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
