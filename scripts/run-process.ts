import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { root } from "./workspace.ts";

export interface RunOptions {
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Relative to the root; the root when left out. */
  readonly folder?: string;
  /** `stream` passes output through as it comes, `collect` returns it. */
  readonly output: "stream" | "collect";
}

export interface RunResult {
  /** The exit code; 1 when the process could not be started or was ended by a signal. */
  readonly code: number;
  /** What was collected, and why the process could not run where that was so. */
  readonly output: string;
}

/** Runs a command of this workspace (`node` is the Node that runs this script) and waits for its end. */
export function runProcess(command: readonly string[], options: RunOptions): Promise<RunResult> {
  const [name = "", ...parameters] = command;
  const path = [join(root, "node_modules/.bin"), process.env["PATH"] ?? ""].join(delimiter);
  const stdio = options.output === "stream" ? "inherit" : "pipe";
  const child = spawn(name === "node" ? process.execPath : name, parameters, {
    cwd: join(root, options.folder ?? ""),
    // With NODE_TEST_CONTEXT a test run inside a test reports to the outer run and prints nothing itself.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, PATH: path, ...options.env },
    stdio: ["ignore", stdio, stdio],
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => output.push(text));
  }
  return new Promise((resolve) => {
    child.on("error", (error) => {
      resolve({ code: 1, output: `${output.join("")}${error.message}\n` });
    });
    child.on("close", (code, signal) => {
      if (signal) output.push(`ended by ${signal}\n`);
      resolve({ code: code ?? 1, output: output.join("") });
    });
  });
}
