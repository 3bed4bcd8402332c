import type { z } from "zod";
import { LeaseholdError } from "../errors.ts";

/** The kind of a value, for an error message: never the value itself, which may be a payload or a secret. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return value === "" ? "empty text" : "text";
    case "number":
      return Number.isFinite(value) ? "a number" : String(value);
    case "boolean":
      return String(value);
    case "object":
      return "an object";
    case "function":
      return "a function";
    default:
      return `a ${typeof value}`;
  }
}

/** The error for a value that an option, field or parameter cannot be: `expected` says what can, and what to do. */
export function refusal(field: string, value: unknown, expected: string): LeaseholdError {
  return new LeaseholdError("InvalidArgument", `${field}: got ${kindOf(value)}, expected ${expected}`);
}

/** Throws `InvalidArgument` for options that are no object, or hold a field that is none: a misspelt option must not be ignored. */
export function checkOptionNames(options: unknown, known: Readonly<Record<string, true>>, field: string): void {
  const expected = `an object with any of ${Object.keys(known).join(", ")}`;
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw refusal(field, options, expected);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new LeaseholdError(
    "InvalidArgument",
    `${field}: got the field ${JSON.stringify(unknown.slice(0, 64))}, expected ${expected}`,
  );
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  null: "null",
  undefined: "nothing",
};

const SHOWN_ISSUES = 3;

/**
 * Says for a person what a schema found wrong with `value`: `source: expected text, got a number`. Names fields and kinds,
 * never values. `root` names the value itself.
 */
export function describeIssues(error: z.core.$ZodError, value: unknown, root: string): string {
  const shown = error.issues.slice(0, SHOWN_ISSUES).map((issue) => describeIssue(issue, value, root));
  const more = error.issues.length - shown.length;
  return more > 0 ? `${shown.join("; ")}; and ${more} more` : shown.join("; ");
}

function describeIssue(issue: z.core.$ZodIssue, value: unknown, root: string): string {
  const field = fieldOf(issue.path, root);
  const kind = kindOf(valueAt(value, issue.path));
  if (issue.code === "invalid_value")
    return `${field}: expected ${issue.values.map((each) => (typeof each === "string" ? JSON.stringify(each) : String(each))).join(" or ")}, got ${kind}`;
  if (issue.code !== "invalid_type") return `${field}: ${issue.message} (got ${kind})`;
  return `${field}: expected ${EXPECTED[issue.expected] ?? issue.expected}, got ${kind}`;
}

/** `input.items[3].name`; of an empty root the first name stands alone. */
function fieldOf(path: readonly PropertyKey[], root: string): string {
  let field = root;
  for (const part of path) {
    if (typeof part === "number") field += `[${part}]`;
    else field += field === "" ? String(part) : `.${String(part)}`;
  }
  return field === "" ? "the value" : field;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[part];
  }
  return at;
}
