import type { z } from "zod";
import { parseTime } from "../clock.ts";
import { isAttribute, MAX_ATTRIBUTE_BYTES, ORDERING_KEY } from "../envelope/codec.ts";
import { type CanonicalInput, checkTaskId, deriveTaskId, inputOf } from "../envelope/ids.ts";
import { ringMessage, taskMessage } from "../envelope/message.ts";
import { fromUnknown, LeaseholdError } from "../errors.ts";
import type { TaskRecord } from "../record/record.ts";
import type { NewTask } from "../store/task-store.ts";
import { checkSchema, checkTaskType } from "../task/resolve.ts";
import type { TraceHeaders } from "../telemetry/telemetry.ts";
import { parseTraceparent } from "../telemetry/trace-context.ts";
import { checkOptionNames, describeIssues, refusal } from "../util/issues.ts";
import { type Moment, momentMs } from "../util/time.ts";
import { type ClientContext, type DeliveryReport, deliver, retried } from "./context.ts";
import { storedInput } from "./payload-store.ts";

/** What enqueue needs of a task definition: the handler may live elsewhere. */
export interface EnqueueTarget<S extends z.ZodType = z.ZodType> {
  readonly type: string;
  readonly input: S;
}

export interface EnqueueOptions {
  /** Names this piece of work within queue and type: the same key again returns the existing task. Default: a fresh one for each call. */
  readonly key?: string | undefined;
  /** The task id itself, instead of one derived from `key`: 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly taskId?: string | undefined;
  /** The conversation, plan or run that asks for it; see `listByRun`. At most 256 bytes. */
  readonly agentRunId?: string | undefined;
  /** Not to be started before: a `Date` or RFC 3339 text. Not together with `orderingKey`. */
  readonly notBefore?: Moment | undefined;
  /** Not worth doing after: a `Date` or RFC 3339 text. */
  readonly deadline?: Moment | undefined;
  /** Tasks of one ordering key start in order, one at a time. 1 to 128 printable ASCII characters without spaces. */
  readonly orderingKey?: string | undefined;
}

export type EnqueueOutcome =
  /** `created`: a new task. `rung_again`: it was there, was never delivered, and a new message was sent for it. */
  | ({ readonly outcome: "created" | "rung_again"; readonly task: TaskRecord } & DeliveryReport)
  /** It was there, with the same type and input. */
  | { readonly outcome: "existing"; readonly task: TaskRecord };

interface CheckedOptions {
  readonly agentRunId?: string;
  readonly notBefore?: number;
  readonly deadline?: number;
  readonly orderingKey?: string;
}

export async function enqueue(
  context: ClientContext,
  target: EnqueueTarget,
  value: unknown,
  options: EnqueueOptions,
): Promise<EnqueueOutcome> {
  checkTaskType((target as Partial<EnqueueTarget> | undefined)?.type);
  checkSchema(target.input, `task "${target.type}".input`);
  const checked = checkOptions(context, options);
  const input = inputOf(value);
  await checkInput(target, input);
  const { queue } = context.queue;
  const taskId = options.taskId ?? deriveTaskId(queue, target.type, options.key ?? context.entropy.token());
  return context.telemetry.send(
    { queue, provider: context.queue.provider, type: target.type, taskId },
    async (headers) => {
      const stored = await storedInput(context.payloadStore, taskId, input);
      const created = await create(context, headers, {
        ...checked,
        taskId,
        type: target.type,
        input: stored,
        inputHash: input.hash,
      });
      if (created.outcome === "exists") return meetExisting(context, target, input, created.record);
      return {
        outcome: "created",
        task: created.record,
        ...(await sendFirst(context, created.record, input, headers)),
      };
    },
  );
}

function create(
  context: ClientContext,
  { traceparent }: TraceHeaders,
  task: CheckedOptions & Pick<NewTask, "taskId" | "type" | "input" | "inputHash">,
): ReturnType<ClientContext["store"]["create"]> {
  const traceId = parseTraceparent(traceparent)?.traceId;
  const request: NewTask = {
    ...task,
    queue: context.queue.queue,
    idempotencyKey: task.taskId,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(traceId === undefined ? {} : { traceId }),
    at: context.clock.now(),
    recoverAfterMs: context.recoverAfterMs,
    retentionMs: context.retentionMs,
    token: context.entropy.token(),
  };
  return retried(context, "create", () => context.store.create(request));
}

/** The first message. Not due for longer than the broker holds a message: the recovery loop rings at the time. */
async function sendFirst(
  context: ClientContext,
  record: TaskRecord,
  input: CanonicalInput,
  headers: TraceHeaders,
): Promise<DeliveryReport> {
  const { maxMessageBytes, maxSendDelayMs } = context.queue.capabilities;
  const delayMs = delayOf(context, record);
  if (delayMs > maxSendDelayMs) return { delivery: "left_to_recovery" };
  const { tracestate } = headers;
  const message = taskMessage(record, input, maxMessageBytes, {
    delayMs,
    ...(tracestate === undefined ? {} : { tracestate }),
  });
  return deliver(context, message);
}

function delayOf(context: ClientContext, record: TaskRecord): number {
  return record.not_before === undefined ? 0 : Math.max(0, parseTime(record.not_before) - context.clock.now());
}

/** The same task again: another type or input is a conflict; one that nobody ever got a message for is rung. */
async function meetExisting(
  context: ClientContext,
  target: EnqueueTarget,
  input: CanonicalInput,
  record: TaskRecord,
): Promise<EnqueueOutcome> {
  const differs = differenceOf(context, target, input, record);
  if (differs !== undefined) {
    throw new LeaseholdError(
      "Conflict",
      `task ${record.task_id} exists already with another ${differs}; the same key must mean the same work: choose another key, or enqueue what was enqueued before`,
      { details: { taskId: record.task_id, differs } },
    );
  }
  if (
    record.status !== "queued" ||
    record.delivery_count > 0 ||
    record.check_at === undefined ||
    delayOf(context, record) > 0
  ) {
    return { outcome: "existing", task: record };
  }
  return ringAgain(context, record, record.check_at);
}

function differenceOf(
  context: ClientContext,
  target: EnqueueTarget,
  input: CanonicalInput,
  record: TaskRecord,
): string | undefined {
  if (record.queue !== context.queue.queue) return "queue";
  if (record.task_type !== target.type) return "type";
  return record.input_hash === input.hash ? undefined : "input";
}

/** As the recovery loop rings: `check_at` moves first, so that of many callers at once one sends. */
async function ringAgain(context: ClientContext, record: TaskRecord, checkAtRead: string): Promise<EnqueueOutcome> {
  const at = context.clock.now();
  const checkAt = at + context.recoverAfterMs;
  const request = {
    taskId: record.task_id,
    queue: record.queue,
    read: { check_at: checkAtRead, status: record.status, fence: record.fence },
    at,
    checkAt,
    sentAt: at,
    kind: "waiting" as const,
    token: context.entropy.token(),
  };
  const moved = await retried(context, "move of a check", () => context.store.moveCheck(request));
  if (moved.outcome === "missing") return { outcome: "existing", task: record };
  if (moved.outcome === "refused") return { outcome: "existing", task: moved.record };
  context.telemetry.ring(record.queue, "enqueued_again");
  return { outcome: "rung_again", task: moved.record, ...(await deliver(context, ringMessage(moved.record, checkAt))) };
}

async function checkInput(target: EnqueueTarget, input: CanonicalInput): Promise<void> {
  // What the worker will see: the input after its way through JSON.
  const value: unknown = JSON.parse(input.text);
  const parsed = await target.input.safeParseAsync(value).catch((error: unknown) => {
    throw fromUnknown(error, `the input schema of task "${target.type}"`);
  });
  if (parsed.success) return;
  throw new LeaseholdError(
    "InvalidArgument",
    `${describeIssues(parsed.error, value, "input")}; correct the input, or the schema of task "${target.type}"`,
  );
}

/** Every option: one that is misspelt, such as the key, would otherwise make another task of each call. */
const OPTIONS: Readonly<Record<keyof EnqueueOptions, true>> = {
  key: true,
  taskId: true,
  agentRunId: true,
  notBefore: true,
  deadline: true,
  orderingKey: true,
};

function checkOptions(context: ClientContext, options: EnqueueOptions): CheckedOptions {
  checkOptionNames(options, OPTIONS, "options");
  const { key, taskId, agentRunId, orderingKey } = options;
  if (key !== undefined && (typeof key !== "string" || key === "")) {
    throw refusal("key", key, "text with at least one character; leave it out for a task of its own");
  }
  if (taskId !== undefined) checkTaskId(taskId, "taskId");
  if (taskId !== undefined && key !== undefined)
    throw refusal("key", key, "nothing beside a taskId; give one of the two");
  if (agentRunId !== undefined && !isAttribute(agentRunId)) {
    throw refusal("agentRunId", agentRunId, `text of 1 to ${MAX_ATTRIBUTE_BYTES} bytes; shorten or hash it`);
  }
  if (orderingKey !== undefined) checkOrdering(context, orderingKey, options.notBefore);
  const notBefore = options.notBefore === undefined ? undefined : momentMs(options.notBefore, "notBefore");
  const deadline = options.deadline === undefined ? undefined : momentMs(options.deadline, "deadline");
  if (notBefore !== undefined && deadline !== undefined && deadline <= notBefore) {
    throw new LeaseholdError(
      "InvalidArgument",
      "deadline: got a time that is not after notBefore, expected a later one; such a task could never run",
    );
  }
  return {
    ...(agentRunId === undefined ? {} : { agentRunId }),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(orderingKey === undefined ? {} : { orderingKey }),
  };
}

function checkOrdering(context: ClientContext, orderingKey: unknown, notBefore: unknown): void {
  if (typeof orderingKey !== "string" || !ORDERING_KEY.test(orderingKey)) {
    throw refusal("orderingKey", orderingKey, "1 to 128 printable ASCII characters without spaces");
  }
  if (!context.queue.capabilities.ordering) {
    throw new LeaseholdError(
      "Unsupported",
      `orderingKey: queue "${context.queue.queue}" (${context.queue.provider}) keeps no order, expected none; leave it out, or use a queue that does`,
    );
  }
  if (notBefore !== undefined) {
    throw new LeaseholdError(
      "Unsupported",
      "notBefore: expected none beside an orderingKey, because a task that waits would hold up all that follow; leave one of the two out",
    );
  }
}
