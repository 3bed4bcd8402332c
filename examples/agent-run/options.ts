import { readFileSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { inputs } from "./handlers.ts";
import { type Provider, providerNames, providersOf } from "./providers.ts";
import { parseTaskFile, type ToolCall } from "./task-file.ts";

export interface DemoOptions {
  readonly calls: readonly ToolCall[];
  /** One, or all that are to be compared. */
  readonly providers: readonly Provider[];
  readonly plain: boolean;
  readonly seed: number;
}

export type ReadOptions =
  | { readonly ok: true; readonly options: DemoOptions }
  | { readonly ok: false; readonly problems: readonly string[] };

const USAGE = "demo [--tasks FILE] [--provider NAME] [--seed NUMBER] [--plain]";
const OWN_TASKS = join(import.meta.dirname, "tasks.jsonl");

/** Reads the command line and the file that it names. `from`: the folder that a relative path means. */
export function readOptions(parameters: readonly string[], from: string): ReadOptions {
  let values: { tasks?: string; provider?: string; seed?: string; plain?: boolean };
  try {
    ({ values } = parseArgs({
      args: [...parameters],
      options: {
        tasks: { type: "string" },
        provider: { type: "string" },
        seed: { type: "string" },
        plain: { type: "boolean" },
      },
    }));
  } catch (error) {
    return { ok: false, problems: [`${error instanceof Error ? error.message : String(error)}; usage: ${USAGE}`] };
  }
  const problems: string[] = [];
  const name = values.provider ?? "memory";
  const providers = providersOf(name);
  if (providers.length === 0)
    problems.push(`--provider: got ${JSON.stringify(name)}, expected one that exists: ${providerNames.join(", ")}`);
  const seed = Number(values.seed ?? 1);
  if (!Number.isSafeInteger(seed) || seed < 0 || values.seed === "")
    problems.push(`--seed: got ${JSON.stringify(values.seed)}, expected a whole number from 0 up`);
  const file = readTasks(values.tasks, from);
  if (!file.ok) return { ok: false, problems: [...problems, ...file.problems] };
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, options: { calls: file.calls, providers, plain: values.plain ?? false, seed } };
}

function readTasks(given: string | undefined, from: string): ReturnType<typeof parseTaskFile> {
  const path = given === undefined ? OWN_TASKS : isAbsolute(given) ? given : join(from, given);
  const name = given ?? relative(from, OWN_TASKS);
  try {
    return parseTaskFile(name, readFileSync(path, "utf8"), inputs);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    return {
      ok: false,
      problems: [
        `--tasks: ${name} cannot be read (${code}), expected a file of JSON Lines, such as examples/agent-run/tasks.jsonl`,
      ],
    };
  }
}
