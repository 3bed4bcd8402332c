import { createTelemetry, type Telemetry } from "@leasehold/core";

/** How often something happened, by its kind. */
export type Counts = Readonly<Record<string, number>>;

/** Telemetry of all workers, with what the report shows counted beside it. */
export interface CountingTelemetry {
  readonly telemetry: Telemetry;
  /** Messages sent for tasks that existed, by cause. */
  readonly rings: Counts;
  /** Leases that ran out, by stage. */
  readonly expired: Counts;
  /** Handlers told to stop, by reason. */
  readonly lost: Counts;
  /** Deliveries that needed no run, by kind. */
  readonly duplicates: Counts;
}

export function createCountingTelemetry(): CountingTelemetry {
  const base = createTelemetry();
  const rings: Record<string, number> = {};
  const expired: Record<string, number> = {};
  const lost: Record<string, number> = {};
  const duplicates: Record<string, number> = {};
  const count = (counts: Record<string, number>, kind: string): void => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  return {
    rings,
    expired,
    lost,
    duplicates,
    telemetry: {
      ...base,
      ring(queue, cause) {
        count(rings, cause);
        base.ring(queue, cause);
      },
      leaseExpired(task, stage) {
        count(expired, stage);
        base.leaseExpired(task, stage);
      },
      leaseLost(task, reason) {
        count(lost, reason);
        base.leaseLost(task, reason);
      },
      duplicate(task, kind) {
        count(duplicates, kind);
        base.duplicate(task, kind);
      },
    },
  };
}
