import type { z } from "zod";

/** One tool call of the agent's run. */
export interface ToolCall {
  /** Unique in its file: the same key is the same piece of work. */
  readonly key: string;
  readonly type: string;
  readonly input: Readonly<Record<string, string>>;
}

export type TaskFile =
  | { readonly ok: true; readonly calls: readonly ToolCall[] }
  /** One text per problem, each with file, line and field. */
  | { readonly ok: false; readonly problems: readonly string[] };

const FIELDS = ["key", "type", "input"];

/**
 * Reads JSON Lines: one object with `key`, `type` and `input` a line; empty lines are skipped. Names every problem, so that
 * a file is corrected in one go.
 */
export function parseTaskFile(name: string, text: string, inputs: Readonly<Record<string, z.ZodType>>): TaskFile {
  const calls: ToolCall[] = [];
  const problems: string[] = [];
  const lineOfKey = new Map<string, number>();
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === "") return;
    const number = index + 1;
    const found = problemsOf(line, inputs);
    problems.push(...found.problems.map((problem) => `${name}:${number}: ${problem}`));
    if (found.call === undefined) return;
    const { key } = found.call;
    const earlier = lineOfKey.get(key);
    if (earlier !== undefined) {
      problems.push(
        `${name}:${number}: key: ${JSON.stringify(key)} is on line ${earlier} too, expected a key of its own; two calls with one key are one task`,
      );
      return;
    }
    lineOfKey.set(key, number);
    calls.push(found.call);
  });
  if (problems.length === 0 && calls.length === 0) {
    problems.push(`${name}: no tasks, expected one object with ${FIELDS.join(", ")} on each line`);
  }
  return problems.length === 0 ? { ok: true, calls } : { ok: false, problems };
}

function problemsOf(
  line: string,
  inputs: Readonly<Record<string, z.ZodType>>,
): { readonly call?: ToolCall; readonly problems: readonly string[] } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return {
      problems: [
        `not JSON (${error instanceof Error ? error.message : String(error)}), expected one object on one line`,
      ],
    };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problems: [`got ${kindOf(value)}, expected an object with ${FIELDS.join(", ")}`] };
  }
  const { key, type, input } = value as Readonly<Record<string, unknown>>;
  const problems = Object.keys(value)
    .filter((field) => !FIELDS.includes(field))
    .map((field) => `${field}: expected no such field; there are ${FIELDS.join(", ")}`);
  if (typeof key !== "string" || key.trim() === "")
    problems.push(`key: got ${kindOf(key)}, expected text that names this call`);
  const schema = typeof type === "string" && Object.hasOwn(inputs, type) ? inputs[type] : undefined;
  if (schema === undefined) {
    problems.push(
      `type: got ${typeof type === "string" ? JSON.stringify(type.slice(0, 40)) : kindOf(type)}, expected one of ${Object.keys(inputs).join(", ")}`,
    );
  } else {
    problems.push(...inputProblems(schema, input));
  }
  return problems.length === 0 ? { call: value as unknown as ToolCall, problems } : { problems };
}

function inputProblems(schema: z.ZodType, input: unknown): readonly string[] {
  const parsed = schema.safeParse(input);
  if (parsed.success) return [];
  return parsed.error.issues.map((issue) => {
    const field = ["input", ...issue.path.map(String)].join(".");
    if (issue.code === "invalid_type")
      return `${field}: got ${kindOf(valueAt(input, issue.path))}, expected ${issue.expected === "string" ? "text" : `an ${issue.expected}`}`;
    return `${field}: got ${kindOf(valueAt(input, issue.path))}; ${issue.message}`;
  });
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const part of path) at = (at as Readonly<Record<PropertyKey, unknown>> | undefined)?.[part];
  return at;
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return value.trim() === "" ? "empty text" : "text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
