import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { linesOf, problemsOf, summaryOf, totalsOf } from "../suite/report.ts";
import type { CaseResult, RunOptions } from "../suite/run.ts";

/** Something that a command runs by its name: the suites on a server, a client of another language. */
export interface Peer {
  readonly name: string;
  run(options: RunOptions): Promise<readonly CaseResult[]>;
}

interface Arguments extends RunOptions {
  readonly peers: readonly Peer[];
}

/**
 * A command line on peers: their names, all when none is given, and `--only TEXT`. Runs them at the same time and prints what
 * became of their cases. Answers the exit code: 1 when something failed, 2 when it was called wrongly. `LEASEHOLD_SUMMARY` names a
 * file for the counts.
 */
export async function runCommand(
  command: string,
  peers: readonly Peer[],
  parameters: readonly string[] = process.argv.slice(2),
): Promise<number> {
  const chosen = readArguments(command, peers, parameters);
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

function readArguments(command: string, all: readonly Peer[], parameters: readonly string[]): Arguments | undefined {
  try {
    const options = { only: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ args: [...parameters], allowPositionals: true, options });
    const unknown = positionals.filter((name) => !all.some((peer) => peer.name === name));
    if (unknown.length > 0) throw new Error(`There is no ${unknown.join(", ")}.`);
    return { ...values, peers: all.filter(({ name }) => positionals.length === 0 || positionals.includes(name)) };
  } catch (error) {
    const names = all.map(({ name }) => name).join(", ");
    console.error(`${(error as Error).message}\nUsage: ${command} [name…] [--only TEXT]. There are: ${names}`);
    return undefined;
  }
}

async function runAll({ peers, ...options }: Arguments): Promise<readonly CaseResult[]> {
  const runs = peers.map(async (peer) => {
    const startedMs = performance.now();
    const results = await peer.run(options);
    for (const target of new Set(results.map((result) => result.target))) {
      const own = results.filter((result) => result.target === target);
      for (const line of linesOf(target, own)) console.log(line);
    }
    console.log(`${peer.name}: ${Math.round((performance.now() - startedMs) / 1_000)} s`);
    return results;
  });
  return (await Promise.all(runs)).flat();
}
