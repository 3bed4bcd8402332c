import { LeaseholdError } from "../errors.ts";

/** Milliseconds, or text such as "500ms", "30s", "10m", "12h", "7d". */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a duration as milliseconds. Throws `InvalidArgument` naming `field` for anything that is no finite time of 0 or more. */
export function durationMs(value: Duration, field: string): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) : null;
  const unit = UNITS[match?.[2] ?? ""];
  if (match !== null && unit !== undefined) return Number(match[1]) * unit;
  throw new LeaseholdError(
    "InvalidArgument",
    `${field}: expected a duration, milliseconds from 0 up or text such as "500ms", "30s", "10m", "12h"; got ${describe(value)}`,
  );
}

function describe(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(value.slice(0, 40))
    : typeof value === "number"
      ? String(value)
      : typeof value;
}
