import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

/** Ends when its standard input is ended. What it says is in `stderr`, both streams together. */
export type TiedProcess = ChildProcessByStdio<Writable, null, Readable>;

const keeper = fileURLToPath(import.meta.url);

/**
 * Runs a program that ends with this process, in whatever way this one ends: between the two there is a keeper that watches a pipe,
 * and a process that was killed closes its pipes.
 */
export function spawnTied(
  program: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): TiedProcess {
  return spawn(process.execPath, [keeper, program, ...parameters], {
    env: environment,
    stdio: ["pipe", "ignore", "pipe"],
  });
}

function keep(program: string, parameters: readonly string[]): void {
  const child = spawn(program, parameters, { stdio: ["ignore", process.stderr, process.stderr] });
  child.on("error", (error) => {
    console.error(error.message);
    process.exit(1);
  });
  child.on("exit", (code) => process.exit(code ?? 1));
  process.stdin.on("close", () => child.kill("SIGKILL"));
  process.stdin.resume();
}

if (process.argv[1] === keeper) {
  const [program = "", ...parameters] = process.argv.slice(2);
  keep(program, parameters);
}
