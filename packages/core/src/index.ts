// For programs that enqueue and run tasks. What adapters are made of is in ./driver,
// the in-memory reference is in ./memory.

export {
  type Client,
  type ClientOptions,
  createClient,
  type ResultOptions,
  type TaskReference,
} from "./client/client.ts";
export type { DeliveryReport } from "./client/context.ts";
export type { EnqueueOptions, EnqueueOutcome, EnqueueTarget } from "./client/enqueue.ts";
export type {
  CancelOptions,
  CancelOutcome,
  ReopenOptions,
  ReopenOutcome,
  ResumeOptions,
  ResumeOutcome,
  Unchanged,
} from "./client/outside.ts";
export type { PayloadStore } from "./client/payload-store.ts";
export type { TaskEnd, TaskUpdate } from "./client/watch.ts";
export type { Clock, Timer } from "./clock.ts";
export type { Entropy } from "./entropy.ts";
export {
  ERROR_CODES,
  type ErrorCode,
  isLeaseholdError,
  LeaseholdError,
  NotCommittedError,
  ParkError,
  PermanentError,
  RetryableError,
} from "./errors.ts";
export { type OpenOptions, openQueue, openStore } from "./open.ts";
export type { QueueDriver } from "./queue/driver.ts";
export type {
  AttemptEntry,
  Claim,
  ClaimStage,
  EffectState,
  Receipt,
  Resolution,
  Stage,
  Status,
  TaskRecord,
} from "./record/record.ts";
export type { Page, PageRequest, TaskStore } from "./store/task-store.ts";
export { abortReasonOf } from "./task/abort.ts";
export type {
  AbortReason,
  AnyEffect,
  AnyTask,
  ClaimRequest,
  CommitContext,
  EffectDefinition,
  EffectGuard,
  FindContext,
  PreviousAttempt,
  RetryRule,
  StageSettings,
  TaskContext,
  TaskDefinition,
  Verified,
} from "./task/define.ts";
export { defineEffect } from "./task/define-effect.ts";
export { defineTask } from "./task/define-task.ts";
export { createTelemetry, type TelemetryOptions } from "./telemetry/create-telemetry.ts";
export type { LogFields, Logger } from "./telemetry/logger.ts";
export type { Telemetry } from "./telemetry/telemetry.ts";
export type { Duration } from "./util/duration.ts";
export type { Moment } from "./util/time.ts";
export { createWorker, type Worker, type WorkerState } from "./worker/create-worker.ts";
export type { HandleOptions } from "./worker/handle.ts";
export type { WorkerOptions } from "./worker/options.ts";
