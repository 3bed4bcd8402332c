import type { OutgoingMessage } from "../queue/driver.ts";
import type { TaskRecord } from "../record/record.ts";
import { byteLength } from "../util/json.ts";
import { encodeEnvelope } from "./codec.ts";
import { EVENT_CONTENT_TYPE, INLINE_DATA_BYTES, MESSAGE_RESERVE_BYTES, ownSource, type TaskEvent } from "./envelope.ts";
import { type CanonicalInput, ringId } from "./ids.ts";

export interface MessageOptions {
  /** How long the broker should hold it, ms; 0 and absent: not at all. */
  readonly delayMs?: number;
  readonly tracestate?: string;
}

/**
 * The first message of a task. The input travels inside when it is at most 64 KB and the whole stays 8 KiB below what the
 * broker takes; else the message names the stored payload.
 */
export function taskMessage(
  record: TaskRecord,
  input: CanonicalInput,
  maxMessageBytes: number,
  options: MessageOptions = {},
): OutgoingMessage {
  if (byteLength(input.text) <= INLINE_DATA_BYTES) {
    const body = encodeEnvelope({ ...eventOf(record, options), data: JSON.parse(input.text) as unknown });
    if (byteLength(body) <= maxMessageBytes - MESSAGE_RESERVE_BYTES)
      return messageOf(record, record.task_id, body, options);
  }
  return messageOf(
    record,
    record.task_id,
    encodeEnvelope({ ...eventOf(record, options), dataref: record.input_hash }),
    options,
  );
}

/**
 * A message that says no more than "look at this task". `checkAt` is the `check_at` (ms) under which it is sent, so that each
 * move of `check_at` rings under an id of its own.
 */
export function ringMessage(record: TaskRecord, checkAt: number, options: MessageOptions = {}): OutgoingMessage {
  const body = encodeEnvelope({ ...eventOf(record, options), dataref: record.input_hash });
  return messageOf(record, ringId(record.task_id, checkAt), body, options);
}

function eventOf(record: TaskRecord, options: MessageOptions): TaskEvent {
  return {
    id: record.task_id,
    source: ownSource(record.queue),
    type: record.task_type,
    time: record.created_at,
    ...(record.agent_run_id === undefined ? {} : { agentrunid: record.agent_run_id }),
    idempotencykey: record.idempotency_key,
    ...(record.ordering_key === undefined ? {} : { partitionkey: record.ordering_key }),
    ...(record.not_before === undefined ? {} : { notbefore: record.not_before }),
    ...(record.deadline === undefined ? {} : { deadline: record.deadline }),
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
    ...(record.traceparent === undefined || options.tracestate === undefined ? {} : { tracestate: options.tracestate }),
  };
}

function messageOf(record: TaskRecord, id: string, body: string, options: MessageOptions): OutgoingMessage {
  const delayMs = Math.ceil(options.delayMs ?? 0);
  return {
    id,
    body,
    contentType: EVENT_CONTENT_TYPE,
    ...(delayMs > 0 ? { delayMs } : {}),
    ...(record.ordering_key === undefined ? {} : { orderingKey: record.ordering_key }),
  };
}
