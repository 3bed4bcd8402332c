import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Something that this machine lacks, in one sentence: why a server is not run. */
export interface Missing {
  readonly missing: string;
}

/** Where the sources of what is run beside us are: `test/reference`. */
export const referenceFolder = fileURLToPath(new URL("../../reference", import.meta.url));

/** Where installed things are kept between runs: in the user's cache, or the system's folder for what does not last. Never in the tree. */
export function cacheFolder(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  const cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ? join(homedir(), ".cache") : tmpdir());
  const folder = join(cache, "leasehold-reference");
  try {
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    const other = join(tmpdir(), "leasehold-reference");
    mkdirSync(other, { recursive: true });
    return other;
  }
}

export interface ToolRun {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs a tool to its end. A tool that cannot be started has failed. */
export function runTool(
  program: string,
  parameters: readonly string[],
  options: { readonly folder?: string; readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<ToolRun> {
  const child = spawn(program, parameters, {
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ ok: false, output: error.message }));
    child.on("close", (code) => resolve({ ok: code === 0, output }));
  });
}

/** The last line that says something. */
export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}

const prepared = new Map<string, Promise<unknown>>();

/** Several servers may need the same preparation: it is made once, by whoever asks first. */
export function once<T>(key: string, prepare: () => Promise<T>): Promise<T> {
  const known = prepared.get(key) as Promise<T> | undefined;
  if (known !== undefined) return known;
  const made = prepare();
  prepared.set(key, made);
  return made;
}
