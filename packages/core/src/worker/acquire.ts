import { parseTime } from "../clock.ts";
import { decodeEnvelope } from "../envelope/codec.ts";
import { MAX_INPUT_BYTES, type TaskEvent } from "../envelope/envelope.ts";
import { type CanonicalInput, idempotencyKeyOf, inputOf, taskIdOf } from "../envelope/ids.ts";
import { fromUnknown, isLeaseholdError, isTransient } from "../errors.ts";
import { deadLetterFence } from "../queue/dead-letter.ts";
import type { Delivery } from "../queue/driver.ts";
import type { Stage, TaskRecord } from "../record/record.ts";
import { parseTraceparent } from "../telemetry/trace-context.ts";
import { retrying } from "../util/retry.ts";
import { within } from "../util/timeout.ts";
import { decideRefused, isExpiredEvent, type RefusedAction } from "./decide.ts";
import { orderingKeyOfDelivery, type Runtime } from "./runtime.ts";

/** A delivery that was read: which task it is about. */
export interface ReadDelivery {
  readonly event: TaskEvent;
  readonly taskId: string;
  /** Absent when the event points at a stored payload. */
  readonly input: CanonicalInput | undefined;
  readonly inputHash: string;
}

export type ReadOutcome =
  | { readonly ok: true; readonly read: ReadDelivery }
  | { readonly ok: false; readonly code: string; readonly text: string };

/** Reads a delivery's body. Never throws: what cannot be read is dead-lettered with what is wrong with it. */
export function readDelivery(runtime: Runtime, delivery: Delivery): ReadOutcome {
  const decoded = decodeEnvelope(delivery.body, delivery.contentType);
  if (!decoded.ok) return { ok: false, code: decoded.code, text: decoded.reason };
  const { event } = decoded;
  const id = taskIdOf(event, runtime.driver.queue);
  if (!id.ok) return { ok: false, code: id.code, text: id.reason };
  if (event.dataref !== undefined)
    return { ok: true, read: { event, taskId: id.taskId, input: undefined, inputHash: event.dataref } };
  let input: CanonicalInput;
  try {
    input = inputOf(event.data ?? null);
  } catch (error) {
    return { ok: false, code: "malformed_event", text: fromUnknown(error, "reading data").message };
  }
  const bytes = Buffer.byteLength(input.text);
  if (bytes > MAX_INPUT_BYTES) {
    return {
      ok: false,
      code: "payload_too_large",
      text: `data: ${bytes} bytes, at most ${MAX_INPUT_BYTES}; store it elsewhere and send a reference`,
    };
  }
  return { ok: true, read: { event, taskId: id.taskId, input, inputHash: input.hash } };
}

export interface Acquired {
  readonly record: TaskRecord;
  readonly previous: TaskRecord | undefined;
  readonly expiredStage: Stage | undefined;
  readonly token: string;
  readonly sentWall: number;
  readonly sentMonotonic: number;
  readonly leaseMs: number;
}

export type AcquireResult =
  | { readonly outcome: "acquired"; readonly acquired: Acquired }
  | { readonly outcome: "refused"; readonly record: TaskRecord; readonly action: RefusedAction }
  /** No record, and none may be made. */
  | { readonly outcome: "dead-letter"; readonly code: string; readonly text: string }
  /** Store unreachable, acquire unclear, or the record does not parse: back off, never dead-letter. */
  | { readonly outcome: "unclear"; readonly text: string };

/** How often the record may change under the look before the delivery is put away. */
const MAX_ROUNDS = 4;

export interface AcquireTerms {
  readonly leaseMs: number;
  /** Monotonic time at which trying ends. */
  readonly untilMonotonic: number;
  /** The one that brought the event: its age, its count and the marks of a dead letter on it. */
  readonly delivery: Delivery;
}

/** One conditional write gives the task, or says why not; a missing record is made from the event. */
export async function acquireTask(runtime: Runtime, read: ReadDelivery, terms: AcquireTerms): Promise<AcquireResult> {
  try {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const result = await acquireOnce(runtime, read, terms);
      if (result !== "again") return result;
    }
    return { outcome: "unclear", text: "the record kept changing" };
  } catch (error) {
    const failure = fromUnknown(error, "acquire");
    runtime.telemetry.callFailed("acquire", failure.code);
    if (!isTransient(failure)) {
      runtime.logger.error("a task could not be acquired", {
        task_id: read.taskId,
        code: failure.code,
        error: failure.message,
      });
    }
    return { outcome: "unclear", text: failure.message };
  }
}

async function acquireOnce(
  runtime: Runtime,
  read: ReadDelivery,
  terms: AcquireTerms,
): Promise<AcquireResult | "again"> {
  const { clock, driver, entropy, owner, settings, store } = runtime;
  const token = entropy.token();
  const sentWall = clock.now();
  const sentMonotonic = clock.monotonic();
  const { leaseMs } = terms;
  const answer = await patiently(runtime, terms, "acquire", () =>
    store.acquire({
      taskId: read.taskId,
      expect: { type: read.event.type, inputHash: read.inputHash },
      owner,
      token,
      at: sentWall,
      leaseMs,
      maxClockSkewMs: settings.maxClockSkewMs,
    }),
  );
  if (answer.outcome === "acquired") {
    const { record, previous, expiredStage } = answer;
    return {
      outcome: "acquired",
      acquired: { record, previous, expiredStage, token, sentWall, sentMonotonic, leaseMs },
    };
  }
  if (answer.outcome === "missing") return createFromEvent(runtime, read, terms);
  const action = decideRefused({
    record: answer.record,
    type: read.event.type,
    inputHash: read.inputHash,
    delivery: terms.delivery,
    ordered: orderingKeyOfDelivery(runtime, terms.delivery) !== undefined,
    // In the event, or beside it.
    deadLetterFence: read.event.deadletterfence ?? deadLetterFence(terms.delivery),
    now: clock.now(),
    leaseMs,
    maxClockSkewMs: settings.maxClockSkewMs,
    maxAbandonDelayMs: driver.capabilities.maxAbandonDelayMs,
  });
  if (action.action !== "reopen") return { outcome: "refused", record: answer.record, action };
  const reopenToken = entropy.token();
  const at = clock.now();
  await patiently(runtime, terms, "reopen", () =>
    store.reopen({
      taskId: read.taskId,
      at,
      recoverAfterMs: settings.recoverAfterMs,
      retentionMs: settings.retentionMs,
      token: reopenToken,
      fence: action.fence,
    }),
  );
  return "again";
}

/** No record: made from the event, with payload and lease in one go, unless it is too old or only points at a payload. */
async function createFromEvent(
  runtime: Runtime,
  read: ReadDelivery,
  terms: AcquireTerms,
): Promise<AcquireResult | "again"> {
  const { clock, driver, entropy, owner, settings, store } = runtime;
  const { event, input } = read;
  const sentWall = clock.now();
  const sentMonotonic = clock.monotonic();
  if (input === undefined) {
    return {
      outcome: "dead-letter",
      code: "record_missing",
      text: `task ${read.taskId} has no record, and the event carries no data to make one`,
    };
  }
  if (
    isExpiredEvent({
      ...optional("time", event.time),
      ...optional("sentAt", terms.delivery.sentAt),
      now: sentWall,
      retentionMs: settings.retentionMs,
    })
  ) {
    return {
      outcome: "dead-letter",
      code: "record_expired",
      text: `task ${read.taskId} has no record, and the event is as old as records are kept: it may have been done before`,
    };
  }
  const notBefore = event.notbefore === undefined ? undefined : parseTime(event.notbefore);
  const deadline = event.deadline === undefined ? undefined : parseTime(event.deadline);
  const due = notBefore === undefined || notBefore <= sentWall;
  const token = entropy.token();
  const creating = patiently(runtime, terms, "create", () =>
    store.create({
      taskId: read.taskId,
      type: event.type,
      queue: driver.queue,
      input: input.text,
      inputHash: input.hash,
      idempotencyKey: idempotencyKeyOf(event, read.taskId),
      ...optional("agentRunId", event.agentrunid),
      ...optional("orderingKey", event.partitionkey ?? terms.delivery.orderingKey),
      ...optional("traceparent", event.traceparent),
      ...optional("traceId", parseTraceparent(event.traceparent)?.traceId),
      ...optional("notBefore", notBefore),
      ...optional("deadline", deadline),
      at: sentWall,
      recoverAfterMs: settings.recoverAfterMs,
      retentionMs: settings.retentionMs,
      token,
      ...(due ? { lease: { owner, leaseMs: terms.leaseMs } } : {}),
    }),
  );
  const created = await creating.catch((error: unknown) => {
    // What is refused here is what the event brought; a refusal of anything else says nothing against it.
    if (isLeaseholdError(error, "InvalidArgument") || isLeaseholdError(error, "PayloadTooLarge")) return error;
    throw error;
  });
  if (created instanceof Error) return { outcome: "dead-letter", code: "refused_by_store", text: created.message };
  if (created.outcome === "exists" || !due) return "again";
  const { record } = created;
  return {
    outcome: "acquired",
    acquired: {
      record,
      previous: undefined,
      expiredStage: undefined,
      token,
      sentWall,
      sentMonotonic,
      leaseMs: terms.leaseMs,
    },
  };
}

function patiently<T>(runtime: Runtime, terms: AcquireTerms, doing: string, call: () => Promise<T>): Promise<T> {
  const tryMs = Math.max((terms.untilMonotonic - runtime.clock.monotonic()) / 2, 50);
  return retrying(() => within(runtime.clock, tryMs, doing, call()), {
    clock: runtime.clock,
    entropy: runtime.entropy,
    doing,
    untilMonotonic: terms.untilMonotonic,
    baseMs: 50,
    capMs: 1_000,
  });
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}
