import type { z } from "zod";
import { type Clock, systemClock } from "../clock.ts";
import { DEFAULT_RECOVER_AFTER_MS, DEFAULT_RETENTION_MS } from "../defaults.ts";
import { type Entropy, systemEntropy } from "../entropy.ts";
import { LeaseholdError } from "../errors.ts";
import type { QueueDriver } from "../queue/driver.ts";
import type { TaskRecord } from "../record/record.ts";
import type { Page, PageRequest, TaskStore } from "../store/task-store.ts";
import { createTelemetry } from "../telemetry/create-telemetry.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type Duration, durationMs } from "../util/duration.ts";
import { checkOptionNames, refusal } from "../util/issues.ts";
import { type ClientContext, retried } from "./context.ts";
import { type EnqueueOptions, type EnqueueOutcome, type EnqueueTarget, enqueue } from "./enqueue.ts";
import {
  type CancelOptions,
  type CancelOutcome,
  cancel,
  type ReopenOptions,
  type ReopenOutcome,
  type ResumeOptions,
  type ResumeOutcome,
  reopen,
  resume,
} from "./outside.ts";
import type { PayloadStore } from "./payload-store.ts";
import { type TaskEnd, type TaskUpdate, waitForEnd, watch } from "./watch.ts";

export interface ClientOptions {
  readonly queue: QueueDriver;
  readonly store: TaskStore;
  /** When recovery first looks after a message was sent. Default 5 min; the workers of the queue need the same. */
  readonly recoverAfter?: Duration;
  /** How long a record outlives its end. Default 45 days; the workers of the queue need the same. */
  readonly retention?: Duration;
  /** How long a call to queue or store is made again while it fails in a transient way. Default 10 s; 0: one try. */
  readonly retryFor?: Duration;
  /** For inputs over 380 KB; the workers need the same one. */
  readonly payloadStore?: PayloadStore;
  /** Default: what the OpenTelemetry API has been given. */
  readonly telemetry?: Telemetry;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

/** A task, or its id. */
export type TaskReference = string | Pick<TaskRecord, "task_id">;

export interface ResultOptions {
  /** How long to wait. Default: until it ends. */
  readonly timeout?: Duration | undefined;
  /** Ends the wait with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Enqueues tasks and looks after them from outside. All methods throw {@link LeaseholdError}: `InvalidArgument` for what the caller
 * got wrong, `Unavailable` and the like when queue or store did not answer for `retryFor`.
 */
export interface Client {
  /**
   * Writes the task, then sends its message. A task that was written is safe: when the message cannot be sent, `delivery` says so and
   * the recovery loop of a worker rings it. The same key (or task id) with the same type and input is the same task; its other
   * options stay as they were. Throws `Conflict` for the same key with another type or input, `PayloadTooLarge` (details `limitBytes`,
   * `sizeBytes`) over 380 KB of JSON without a payload store, `Unsupported` for an ordering key where the queue keeps no order or beside `notBefore`.
   */
  enqueue<S extends z.ZodType>(
    definition: EnqueueTarget<S>,
    input: z.input<S>,
    options?: EnqueueOptions,
  ): Promise<EnqueueOutcome>;
  /**
   * Claims as they come, beginning with the last three there are, then the end. Looks every 0.5 s, doubling to 5 s while nothing moves;
   * `skipped` counts the claims between two looks that the record no longer holds. Throws `NotFound`, and the signal's reason.
   */
  watch(task: TaskReference, options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<TaskUpdate>;
  /** Waits for the end, looking as `watch` does. Throws `NotFound`, and the signal's reason. */
  result(
    task: TaskReference,
    options?: ResultOptions,
  ): Promise<TaskEnd | { readonly outcome: "timeout"; readonly task: TaskRecord }>;
  /** The record as it is now. */
  get(task: TaskReference): Promise<TaskRecord | undefined>;
  /** Tasks of one run, by creation; 100 to a page by default. */
  listByRun(agentRunId: string, page?: PageRequest): Promise<Page<TaskRecord>>;
  /** Ends a waiting or parked task at once; asks the holder of a leased one to end it. */
  cancel(task: TaskReference, options?: CancelOptions): Promise<CancelOutcome>;
  /** A person's decision on a parked task; then it is rung. */
  resume(task: TaskReference, options: ResumeOptions): Promise<ResumeOutcome>;
  /** Starts a dead-lettered, parked or cancelled task anew: attempts at 0, effects as they were; then it is rung. */
  reopen(task: TaskReference, options?: ReopenOptions): Promise<ReopenOutcome>;
}

const DEFAULT_RETRY_FOR_MS = 10_000;
const MIN_RECOVER_AFTER_MS = 1_000;
const MIN_RETENTION_MS = 86_400_000;

/** A client of one queue and its store. It owns neither: close them when you are done. */
export function createClient(options: ClientOptions): Client {
  const context = contextOf(options);
  const { store, clock } = context;
  return {
    enqueue: (definition, input, enqueueOptions = {}) => enqueue(context, definition, input, enqueueOptions),
    watch: (task, watchOptions = {}) => watch(context, idOf(task), watchOptions.signal),
    async result(task, resultOptions = {}) {
      checkOptionNames(resultOptions, RESULT_OPTIONS, "result");
      const { timeout, signal } = resultOptions;
      const untilMonotonic =
        timeout === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() + durationMs(timeout, "timeout");
      return waitForEnd(context, idOf(task), untilMonotonic, signal);
    },
    async get(task) {
      const taskId = idOf(task);
      return retried(context, "get", () => store.get(taskId));
    },
    async listByRun(agentRunId, page) {
      if (typeof agentRunId !== "string" || agentRunId === "")
        throw refusal("agentRunId", agentRunId, "the text that enqueue was given");
      return retried(context, "list of a run", () => store.listByRun(agentRunId, page));
    },
    cancel: async (task, cancelOptions = {}) => cancel(context, idOf(task), cancelOptions),
    resume: async (task, resumeOptions) => resume(context, idOf(task), resumeOptions),
    reopen: async (task, reopenOptions = {}) => reopen(context, idOf(task), reopenOptions),
  };
}

const RESULT_OPTIONS: Readonly<Record<keyof ResultOptions, true>> = { timeout: true, signal: true };

/** Every option, so that a misspelt one is refused instead of ignored. */
const OPTIONS: Readonly<Record<keyof ClientOptions, true>> = {
  queue: true,
  store: true,
  recoverAfter: true,
  retention: true,
  retryFor: true,
  payloadStore: true,
  telemetry: true,
  clock: true,
  entropy: true,
};

function contextOf(options: ClientOptions): ClientContext {
  checkOptionNames(options, OPTIONS, "client");
  if (typeof options?.queue?.send !== "function")
    throw refusal("queue", options?.queue, "a queue, as openQueue gives it");
  if (typeof options.store?.create !== "function")
    throw refusal("store", options.store, "a task store, as openStore gives it");
  const { clock = systemClock, entropy = systemEntropy } = options;
  return {
    queue: options.queue,
    store: options.store,
    clock,
    entropy,
    telemetry: options.telemetry ?? createTelemetry(),
    payloadStore: options.payloadStore,
    recoverAfterMs: atLeast(options.recoverAfter ?? DEFAULT_RECOVER_AFTER_MS, MIN_RECOVER_AFTER_MS, "recoverAfter"),
    retentionMs: atLeast(options.retention ?? DEFAULT_RETENTION_MS, MIN_RETENTION_MS, "retention"),
    retryForMs: durationMs(options.retryFor ?? DEFAULT_RETRY_FOR_MS, "retryFor"),
  };
}

function atLeast(value: Duration, leastMs: number, field: string): number {
  const ms = durationMs(value, field);
  if (ms >= leastMs) return ms;
  throw new LeaseholdError("InvalidArgument", `${field}: got ${ms} ms, expected at least ${leastMs} ms`);
}

function idOf(task: TaskReference): string {
  const taskId: unknown = typeof task === "string" ? task : task?.task_id;
  if (typeof taskId === "string" && taskId !== "") return taskId;
  throw refusal("task", task, "a task id, or a task as enqueue and get answer it");
}
