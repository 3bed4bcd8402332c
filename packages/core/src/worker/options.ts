import { hostname } from "node:os";
import type { PayloadStore } from "../client/payload-store.ts";
import { type Clock, systemClock } from "../clock.ts";
import { DEFAULT_RECOVER_AFTER_MS, DEFAULT_RETENTION_MS } from "../defaults.ts";
import { type Entropy, systemEntropy } from "../entropy.ts";
import { LeaseholdError } from "../errors.ts";
import type { QueueDriver } from "../queue/driver.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { AnyTask } from "../task/define.ts";
import { type ResolvedTask, resolveTask } from "../task/resolve.ts";
import { createTelemetry } from "../telemetry/create-telemetry.ts";
import { type Logger, silentLogger } from "../telemetry/logger.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { type Duration, durationMs } from "../util/duration.ts";
import { checkOptionNames } from "../util/issues.ts";
import type { Runtime, WorkerSettings } from "./runtime.ts";

export interface WorkerOptions {
  readonly queue: QueueDriver;
  readonly store: TaskStore;
  /** The task types that this worker can run. */
  readonly tasks: readonly AnyTask[];
  /** Handlers at a time. Default 10. */
  readonly concurrency?: number;
  /** Part of the worker's identity in records. Default `worker`. */
  readonly name?: string;
  /** The largest difference between the clocks of any two workers. Default 2 s. */
  readonly maxClockSkew?: Duration;
  /** How long after its time a task that did not start is looked at. Default 5 min. The same in all workers and clients of a queue. */
  readonly recoverAfter?: Duration;
  /** How long finished records are kept. Default 45 days. */
  readonly retention?: Duration;
  /** How long a stop may take in all; its last 5 s are for abort, release and flush. Default 25 s. */
  readonly stop?: Duration;
  /** The longest delay with an ordering key. Default 5 min. */
  readonly orderHold?: Duration;
  /** After this long an orphaned handler makes `run` reject with `Hung`; `false`: never. Default 5 min. */
  readonly hungAfter?: Duration | false;
  /** Throw on a vague reason instead of recording it. For tests. Default false. */
  readonly strictReasons?: boolean;
  /** Run the recovery loop. Without one in any worker, a task whose message is lost waits for ever. Default true. */
  readonly recovery?: boolean;
  /** For inputs over 380 KB; the same one that the client has. */
  readonly payloadStore?: PayloadStore;
  /** Default: OpenTelemetry's global providers. */
  readonly telemetry?: Telemetry;
  /** Default: silent. */
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
}

export interface ResolvedWorker {
  readonly runtime: Runtime;
  readonly tasks: ReadonlyMap<string, ResolvedTask>;
}

const DAY_MS = 86_400_000;

/** Every option, so that a misspelt one is refused instead of ignored. */
const OPTIONS: Readonly<Record<keyof WorkerOptions, true>> = {
  queue: true,
  store: true,
  tasks: true,
  concurrency: true,
  name: true,
  maxClockSkew: true,
  recoverAfter: true,
  retention: true,
  stop: true,
  orderHold: true,
  hungAfter: true,
  strictReasons: true,
  recovery: true,
  payloadStore: true,
  telemetry: true,
  logger: true,
  clock: true,
  entropy: true,
};

/** Checks the options and fills in defaults. Throws `InvalidArgument` naming the field. */
export function resolveWorker(options: WorkerOptions): ResolvedWorker {
  checkOptionNames(options, OPTIONS, "worker");
  const tasks = new Map<string, ResolvedTask>();
  if (!Array.isArray(options.tasks) || options.tasks.length === 0) {
    throw refuse("tasks", options.tasks, "a list of at least one task, as defineTask makes them");
  }
  for (const definition of options.tasks) {
    const task = resolveTask(definition);
    if (tasks.has(task.type)) throw refuse("tasks", task.type, "each task type once");
    tasks.set(task.type, task);
  }
  for (const [field, verb] of [
    ["queue", "receive"],
    ["store", "acquire"],
  ] as const) {
    const part: unknown = options[field];
    if (typeof (part as Record<string, unknown> | undefined)?.[verb] !== "function") {
      throw refuse(
        field,
        part,
        field === "queue" ? "a queue, as openQueue opens it" : "a store, as openStore opens it",
      );
    }
  }
  const entropy = options.entropy ?? systemEntropy;
  const logger = options.logger ?? silentLogger;
  const settings: WorkerSettings = {
    concurrency: countOf(options.concurrency ?? 10, "concurrency"),
    maxClockSkewMs: durationMs(options.maxClockSkew ?? 2_000, "maxClockSkew"),
    recoverAfterMs: atLeast(
      durationMs(options.recoverAfter ?? DEFAULT_RECOVER_AFTER_MS, "recoverAfter"),
      1_000,
      "recoverAfter",
    ),
    retentionMs: atLeast(durationMs(options.retention ?? DEFAULT_RETENTION_MS, "retention"), DAY_MS, "retention"),
    stopMs: durationMs(options.stop ?? 25_000, "stop"),
    orderHoldMs: durationMs(options.orderHold ?? 300_000, "orderHold"),
    hungAfterMs:
      options.hungAfter === false ? Number.POSITIVE_INFINITY : durationMs(options.hungAfter ?? 300_000, "hungAfter"),
    strictReasons: options.strictReasons ?? false,
    recovery: options.recovery ?? true,
    receiveLeaseMs: Math.max(...[...tasks.values()].map((task) => task.leaseMs.preflight)),
  };
  return {
    tasks,
    runtime: {
      clock: options.clock ?? systemClock,
      entropy,
      store: options.store,
      driver: options.queue,
      telemetry: options.telemetry ?? createTelemetry({ logger }),
      logger,
      settings,
      payloadStore: options.payloadStore,
      owner: `${options.name ?? "worker"}@${hostname()}/${entropy.token().slice(0, 8)}`,
    },
  };
}

function countOf(value: unknown, field: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return value;
  throw refuse(field, value, "a whole number from 1 up");
}

function atLeast(ms: number, minMs: number, field: string): number {
  if (ms >= minMs) return ms;
  throw refuse(field, ms, `at least ${minMs} ms`);
}

function refuse(field: string, value: unknown, expected: string): LeaseholdError {
  const got =
    typeof value === "string"
      ? JSON.stringify(value.slice(0, 64))
      : typeof value === "number"
        ? String(value)
        : Array.isArray(value)
          ? `a list of ${value.length}`
          : typeof value;
  return new LeaseholdError("InvalidArgument", `worker.${field}: got ${got}, expected ${expected}`);
}
