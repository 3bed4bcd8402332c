import { createHash } from "node:crypto";
import { LeaseholdError } from "../errors.ts";

/**
 * Canonical JSON: keys sorted by code unit (JS-05), no white space. What JSON would silently change (JS-04: undefined in a
 * place that matters, NaN, BigInt, functions, Map, Date without toJSON, typed arrays, cycles) is refused with its path.
 * Object members that are `undefined` are left out, as JSON does. Lone surrogates are kept as escapes.
 */
export function canonicalJson(value: unknown, field: string): string {
  return write(value, field, []);
}

function write(value: unknown, path: string, above: unknown[]): string {
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      if (!Number.isFinite(value)) throw refuse(path, String(value), "a finite number");
      return JSON.stringify(value);
    case "object":
      break;
    default:
      throw refuse(path, typeof value, "a JSON value");
  }
  if (value === null) return "null";
  if (above.includes(value)) throw refuse(path, "a cycle", "a tree");
  if (above.length > 100) throw refuse(path, "more than 100 levels", "a JSON value of at most 100 levels");
  above.push(value);
  const text = Array.isArray(value) ? writeArray(value, path, above) : writeObject(value, path, above);
  above.pop();
  return text;
}

function writeArray(values: readonly unknown[], path: string, above: unknown[]): string {
  const parts: string[] = [];
  for (let index = 0; index < values.length; index++) parts.push(write(values[index], `${path}[${index}]`, above));
  return `[${parts.join(",")}]`;
}

function writeObject(value: object, path: string, above: unknown[]): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    if (value instanceof Date && !Number.isNaN(value.getTime())) return JSON.stringify(value);
    throw refuse(
      path,
      `an instance of ${value.constructor?.name ?? "a class"}`,
      "a plain object, array, text, number, boolean or null",
    );
  }
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) parts.push(`${JSON.stringify(key)}:${write(member, `${path}.${key}`, above)}`);
  }
  return `{${parts.join(",")}}`;
}

function refuse(path: string, got: string, expected: string): LeaseholdError {
  return new LeaseholdError("InvalidArgument", `${path}: got ${got}, expected ${expected}`);
}

/** Parses JSON text, keeping `__proto__` as an ordinary member. `undefined` when the text is not JSON. */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Bytes of a text in UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** SHA-256 as lower-case hex. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** 26 base32 characters (130 bits) of the SHA-256 over the parts, which are kept apart unambiguously. */
export function shortHash(...parts: readonly string[]): string {
  const digest = createHash("sha256").update(JSON.stringify(parts), "utf8").digest();
  let text = "";
  let bits = 0;
  let held = 0;
  for (let index = 0; text.length < 26; ) {
    if (bits < 5) {
      held = ((held << 8) | (digest[index++] ?? 0)) & 0xfff;
      bits += 8;
    }
    bits -= 5;
    text += BASE32[(held >> bits) & 31];
  }
  return text;
}

/** Cuts a text to at most `maxBytes` of UTF-8, on a character boundary, with `mark` at the end when something was cut. */
export function clipBytes(text: string, maxBytes: number, mark = "…"): string {
  if (byteLength(text) <= maxBytes) return text;
  const room = maxBytes - byteLength(mark);
  const bytes = Buffer.from(text, "utf8").subarray(0, Math.max(room, 0));
  return bytes.toString("utf8").replace(/\uFFFD+$/, "") + (room >= 0 ? mark : "");
}
