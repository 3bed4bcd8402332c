import type { PayloadStore } from "../client/payload-store.ts";
import type { Clock } from "../clock.ts";
import type { Entropy } from "../entropy.ts";
import type { Delivery, QueueDriver } from "../queue/driver.ts";
import type { TaskRecord } from "../record/record.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { TaskLabel, Telemetry } from "../telemetry/telemetry.ts";

/** Everything that the parts of one worker share. */
export interface Runtime {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly store: TaskStore;
  readonly driver: QueueDriver;
  readonly telemetry: Telemetry;
  readonly logger: Logger;
  readonly settings: WorkerSettings;
  /** For inputs that are too large for the task store; the same one that the client has. */
  readonly payloadStore: PayloadStore | undefined;
  /** Worker identity: name, host and instance. */
  readonly owner: string;
}

/** The worker's options as plain numbers. */
export interface WorkerSettings {
  readonly concurrency: number;
  readonly maxClockSkewMs: number;
  readonly recoverAfterMs: number;
  readonly retentionMs: number;
  readonly stopMs: number;
  readonly orderHoldMs: number;
  /** How long an orphaned handler may run before `run` rejects with `Hung`; Infinity: for ever. */
  readonly hungAfterMs: number;
  readonly strictReasons: boolean;
  readonly recovery: boolean;
  /** The broker lease that receives ask for, before skew and reserve, ms. */
  readonly receiveLeaseMs: number;
}

/** What the broker is asked for beyond the record's lease, ms, besides the skew: so that it outlives the record's. */
export const BROKER_RESERVE_MS = 3_000;

/** The broker lease for a record lease of `leaseMs`: longer by skew and reserve, within what the broker gives. */
export function brokerLeaseMs(runtime: Runtime, leaseMs: number): number {
  const { fixedLeaseMs, maxLeaseMs } = runtime.driver.capabilities;
  if (fixedLeaseMs !== undefined) return fixedLeaseMs;
  return Math.min(leaseMs + runtime.settings.maxClockSkewMs + BROKER_RESERVE_MS, maxLeaseMs);
}

/** What a holder leaves unused at the end of its lease: max(1 s, 5 %), at most a quarter. */
export function leaseMarginMs(leaseMs: number): number {
  return Math.min(Math.max(1_000, leaseMs * 0.05), leaseMs / 4);
}

/** The ordering key of a task, where the queue keeps an order; elsewhere it is only a word in the record. */
export function orderingKeyOf(runtime: Runtime, record: Pick<TaskRecord, "ordering_key">): string | undefined {
  return runtime.driver.capabilities.ordering ? record.ordering_key : undefined;
}

/** The ordering key of a delivery, likewise: an SQS standard queue hands out message groups without keeping their order. */
export function orderingKeyOfDelivery(runtime: Runtime, delivery: Pick<Delivery, "orderingKey">): string | undefined {
  return runtime.driver.capabilities.ordering ? delivery.orderingKey : undefined;
}

/** The label of a task type on this worker's queue. */
export function labelOf(runtime: Runtime, type: string): TaskLabel {
  return { type, queue: runtime.driver.queue };
}
