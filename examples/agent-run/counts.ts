import { createTelemetry, type Telemetry } from "@leasehold/core";

/**
 * What the report shows. `rings`: messages sent for tasks that existed, by cause; `expired`: leases that ran out, by stage; `lost`:
 * handlers told to stop, by reason; `duplicates`: deliveries that needed no run, by kind.
 */
export type CountKind = "rings" | "expired" | "lost" | "duplicates";

/** How often something happened, by its kind. */
export type Counts = Readonly<Record<string, number>>;

/** What all workers count, in one place. */
export interface Tally {
  readonly counts: Readonly<Record<CountKind, Counts>>;
  add(kind: CountKind, what: string): void;
}

export function createTally(): Tally {
  const counts: Record<CountKind, Record<string, number>> = { rings: {}, expired: {}, lost: {}, duplicates: {} };
  return {
    counts,
    add(kind, what) {
      counts[kind][what] = (counts[kind][what] ?? 0) + 1;
    },
  };
}

/** OpenTelemetry as ever, with what the report shows told to `add`. */
export function createCountingTelemetry(add: Tally["add"]): Telemetry {
  const base = createTelemetry();
  return {
    ...base,
    ring(queue, cause) {
      add("rings", cause);
      base.ring(queue, cause);
    },
    leaseExpired(task, stage) {
      add("expired", stage);
      base.leaseExpired(task, stage);
    },
    leaseLost(task, reason) {
      add("lost", reason);
      base.leaseLost(task, reason);
    },
    duplicate(task, kind) {
      add("duplicates", kind);
      base.duplicate(task, kind);
    },
  };
}
