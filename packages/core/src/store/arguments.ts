import { formatTime } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import { kindOf } from "../util/issues.ts";
import { byteLength } from "../util/json.ts";

/** The last moment that has a four-digit year: later times would not sort as text. */
const LAST_MS = 253_402_300_799_999;
const TASK_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Queue and run are keys of indexes, which DynamoDB limits to 2 KB. */
const MAX_TEXT_BYTES = 1_024;

/** A stored time. Throws `InvalidArgument` naming the field when `ms` is no time of the years 1970 to 9999. */
export function storedTime(ms: number, field: string): string {
  if (Number.isFinite(ms) && ms >= 0 && ms <= LAST_MS) return formatTime(ms);
  throw refuse(field, typeof ms === "number" ? String(ms) : kindOf(ms), "milliseconds since 1970, up to the year 9999");
}

/** A stored time `addMs` after another; a sum past the year 9999 is that year's end. */
export function laterTime(ms: number, field: string, addMs: number, addField: string): string {
  requireLength(addMs, addField);
  storedTimeInRange(ms, field);
  return formatTime(Math.min(ms + addMs, LAST_MS));
}

/** TTL in epoch seconds, never before the moment it stands for. */
export function expiry(at: number, retentionMs: number): number {
  storedTimeInRange(at, "at");
  requireLength(retentionMs, "retentionMs");
  return Math.ceil((at + retentionMs) / 1_000);
}

/** Throws `InvalidArgument` unless `ms` is a finite length of time of 0 or more. */
export function requireLength(ms: number, field: string): void {
  if (typeof ms !== "number" || !Number.isFinite(ms) || ms < 0) {
    throw refuse(field, typeof ms === "number" ? String(ms) : kindOf(ms), "milliseconds from 0 up");
  }
}

/** Throws `InvalidArgument` unless `value` is a whole number of `least` or more. */
export function requireCount(value: number, field: string, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw refuse(
      field,
      typeof value === "number" ? String(value) : kindOf(value),
      `a whole number of ${least} or more`,
    );
  }
}

export function requireTaskId(taskId: string): void {
  if (typeof taskId !== "string" || !TASK_ID.test(taskId)) {
    throw refuse("taskId", kindOf(taskId), "1 to 64 of A-Z a-z 0-9 _ -");
  }
}

/** Throws `InvalidArgument` unless `value` is text of 1 to `maxBytes` bytes. */
export function requireText(value: string, field: string, maxBytes = MAX_TEXT_BYTES): void {
  if (typeof value !== "string" || value === "") throw refuse(field, kindOf(value), `text of 1 to ${maxBytes} bytes`);
  const size = byteLength(value);
  if (size > maxBytes) throw refuse(field, `${size} bytes`, `text of 1 to ${maxBytes} bytes`);
}

export function refuse(field: string, got: string, expected: string): LeaseholdError {
  return new LeaseholdError("InvalidArgument", `${field}: got ${got}, expected ${expected}`, { details: { field } });
}

function storedTimeInRange(ms: number, field: string): void {
  if (!(Number.isFinite(ms) && ms >= 0 && ms <= LAST_MS)) storedTime(ms, field);
}
