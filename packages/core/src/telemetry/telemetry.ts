import type { Context } from "@opentelemetry/api";
import type { Stage } from "../record/record.ts";
import type { AbortReason } from "../task/define.ts";
import type { LinkedEvent } from "./trace-context.ts";

/**
 * What core tells the outside world. All names are low in cardinality: task types, stages, reasons and codes, never ids.
 * Ids go on spans.
 */
export interface Telemetry {
  /** A task was acquired: `latencyMs` since max(event time, not_before). Not recorded when it is no number. */
  acquired(task: TaskLabel, latencyMs: number): void;
  /** An attempt ended: how many renewals its fence had. */
  renewals(task: TaskLabel, count: number): void;
  /** A lease ran out in this stage; once per fence. In `commit` it should page somebody. */
  leaseExpired(task: TaskLabel, stage: Stage): void;
  /** A delivery for a task that needs none: `settled`, `live_elsewhere`, `live_here`, `ended`. */
  duplicate(task: TaskLabel, kind: string): void;
  /** A task was released for another attempt, by class of error; see {@link errorTypeOf}. */
  retried(task: TaskLabel, errorClass: string): void;
  /** From the answer of the last commit to the settled record. */
  settledAfterCommit(task: TaskLabel, latencyMs: number): void;
  deadLettered(task: TaskLabel, code: string): void;
  /**
   * `missing`: no valid traceparent in message or record. `stale`: they name different traces, or the event is over 7 days old.
   * `process` counts its attempt by itself; this is for a task that ends without one.
   */
  traceLink(task: TaskLabel, kind: "missing" | "stale"): void;

  leaseLost(task: TaskLabel, reason: AbortReason): void;
  /** What was left of the lease when the settle was confirmed. */
  remainingAtSettle(task: TaskLabel, remainingMs: number): void;
  /** Handlers running: +1, -1. */
  inFlight(task: TaskLabel, change: 1 | -1): void;
  /** Handlers that still run although their lease is gone: +1, -1. */
  orphaned(task: TaskLabel, change: 1 | -1): void;
  eventLoopDelay(delayMs: number): void;
  /** `begun`, `committed`, `verified`, `not_committed`, `unknown`, `found_on_retry`, `not_found`, `refused`. */
  effect(task: TaskLabel, effect: string, outcome: string): void;
  /** The recovery loop or a human decision rang a task: `lost`, `lapsed`, `resumed`, `reopened`, `released`, `enqueued_again`, `cancel_requested`. */
  ring(queue: string, cause: string): void;
  /** A claim with a vague reason: counted each time, logged once per type with the reason where it is given. */
  vagueClaim(task: TaskLabel, stage: Stage, reason?: string): void;
  /** A call to the broker or the store failed and will be tried again, or was given up. */
  callFailed(call: string, code: string): void;

  /** The span of a send; the producer's context goes into the event as traceparent. */
  send<T>(event: SendEvent, call: (headers: TraceHeaders) => Promise<T>): Promise<T>;
  /** The span of one receive that brought messages; `events`, where they were read, link it to their producers. */
  received(queue: string, count: number, provider: string, events?: readonly TraceHeaders[]): void;
  /** The span of one attempt, a child of the producer's context. Counts a trace link that is missing or stale. */
  process(attempt: AttemptEvent): ProcessSpan;
}

export interface TaskLabel {
  readonly type: string;
  readonly queue: string;
}

export interface TraceHeaders {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

export interface SendEvent {
  readonly queue: string;
  readonly provider: string;
  readonly type: string;
  readonly taskId: string;
}

export interface AttemptEvent extends SendEvent {
  /** Wall time of the caller, milliseconds since the epoch. */
  readonly at: number;
  readonly event: LinkedEvent | undefined;
  /** Of the record: how a ring without trace continues it. */
  readonly recordTraceparent: string | undefined;
  readonly attempt: number;
  readonly fence: number;
  readonly agentRunId: string | undefined;
}

/** The span of an attempt. Claims and effect steps end short spans at once, so that an attempt which died is visible. */
export interface ProcessSpan {
  /** The context for everything the handler does. */
  readonly context: Context;
  /** Hex id of the task's trace. Without a tracer it is the producer's; absent when that one sent none. */
  readonly traceId: string | undefined;
  /** A claim; one that repeats the last makes no span. */
  claim(stage: Stage, reason: string): void;
  /** `slot`: the effect's name, or `<name>:<item>`. */
  effectStep(slot: string, step: string): void;
  /** The span of the settle, under this one: `complete`, `abandon`, `dead-letter`. May follow `end`. */
  settle(verb: string): void;
  /** `how`: settled, released, dead_lettered, parked, cancelled, lost. The first call counts. */
  end(how: string, error?: unknown): void;
}
