import { formatTime, parseTime } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import { kindOf } from "./issues.ts";

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Stored times begin in 1970 and have four-digit years, so that they sort as text; the last year is left free, so that a delay can be added to any time. */
const EARLIEST_MS = 0;
const LATEST_MS = parseTime("9999-01-01T00:00:00.000Z");

/**
 * Reads an RFC 3339 time as ms since the epoch; digits below the millisecond are cut. `undefined` for anything else: other forms, a 30th of February,
 * times outside of the years 1970 to 9998 (UTC).
 */
export function parseRfc3339(text: string): number | undefined {
  const match = RFC_3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const zoneMinutes = minutesOf(match[8] ?? "Z");
  // A leap second, 60, is the first of the next minute.
  if (!isDay(year, month, day) || hour > 23 || minute > 59 || second > 60 || zoneMinutes === undefined)
    return undefined;
  const milliseconds = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const minutes = (daysSince1970(year, month, day) * 24 + hour) * 60 + minute - zoneMinutes;
  const ms = (minutes * 60 + second) * 1_000 + milliseconds;
  return isInRange(ms) ? ms : undefined;
}

function isInRange(ms: number): boolean {
  return ms >= EARLIEST_MS && ms < LATEST_MS;
}

function isDay(year: number, month: number, day: number): boolean {
  const leapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const last = month === 2 && !leapYear ? 28 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= last;
}

/** Days of the proleptic Gregorian calendar; the year is taken to begin in March, so that the leap day is its last. */
function daysSince1970(year: number, month: number, day: number): number {
  const years = month > 2 ? year : year - 1;
  const months = (month + 9) % 12;
  const leapDays = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  return years * 365 + leapDays + Math.floor((months * 153 + 2) / 5) + day - 719_469;
}

/** Minutes ahead of UTC; undefined for an offset of a day or more. */
function minutesOf(zone: string): number | undefined {
  if (zone.length === 1) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone[0] === "-" ? -1 : 1) * (hours * 60 + minutes);
}

/** A moment as users give it: a `Date`, or RFC 3339 text with a zone, such as "2026-01-31T12:00:00Z". */
export type Moment = Date | string;

/** Reads a moment as ms since the epoch. Throws `InvalidArgument` naming `field`. */
export function momentMs(value: Moment, field: string): number {
  const ms = typeof value === "string" ? parseRfc3339(value) : dateMs(value);
  if (ms !== undefined) return ms;
  const got =
    typeof value === "string"
      ? JSON.stringify(value.slice(0, 40))
      : isDate(value)
        ? "a Date out of range"
        : kindOf(value);
  throw new LeaseholdError(
    "InvalidArgument",
    `${field}: got ${got}, expected a Date or RFC 3339 text with a zone, such as "${formatTime(0)}", in the years 1970 to 9998`,
  );
}

function dateMs(value: unknown): number | undefined {
  if (!isDate(value)) return undefined;
  const ms = value.getTime();
  return isInRange(ms) ? ms : undefined;
}

function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === "[object Date]";
}
