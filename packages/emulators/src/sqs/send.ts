import { createHash, randomUUID } from "node:crypto";
import { invalidParameter, invalidValue, missingParameter } from "./errors.ts";
import { createMemory, type Memory } from "./memory.ts";
import type { Content } from "./message.ts";
import {
  attributesMd5,
  attributesSize,
  checkAttributes,
  checkCharacters,
  type MessageAttributes,
} from "./message-attributes.ts";
import type { Queue } from "./queue.ts";
import { MAX_DELAY_SECONDS, type QueueSettings } from "./queue-attributes.ts";

/** A message as its sender describes it. */
export interface SendInput {
  readonly MessageBody?: string;
  readonly DelaySeconds?: number;
  readonly MessageAttributes?: MessageAttributes;
  readonly MessageSystemAttributes?: MessageAttributes;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

/** What the sender gets. */
export interface SendOutput {
  readonly MessageId: string;
  readonly MD5OfMessageBody: string;
  readonly MD5OfMessageAttributes: string | undefined;
  readonly SequenceNumber: string | undefined;
}

/** Takes messages into one queue: what is refused, what is swallowed, what becomes of the rest. */
export interface Sender {
  /** Throws what the service throws for one message of a batch. */
  prepare(input: SendInput): Prepared;
  /** Throws for what makes a whole batch fail. */
  checkIds(input: SendInput): void;
  /** Puts prepared messages into the queue, all at once, so that a long poll can have the whole batch. */
  send(prepared: readonly Prepared[]): readonly SendOutput[];
}

export interface Prepared {
  readonly input: SendInput;
  readonly content: Content;
  readonly delayMs: number | undefined;
}

const ID = /^[\x21-\x7e]{1,128}$/;
const SEQUENCE_DIGITS = 20;

export function messageSize(input: SendInput): number {
  return Buffer.byteLength(input.MessageBody ?? "") + attributesSize(input.MessageAttributes);
}

export function createSender(queue: Queue, now: () => number): Sender {
  const sent: Memory<Content> = createMemory();
  let sequence = 0n;

  function checkIds({ MessageGroupId: groupId, MessageDeduplicationId: deduplicationId }: SendInput): void {
    const { isFifo, contentBasedDeduplication } = queue.settings();
    if (isFifo && groupId === undefined) throw missingParameter("MessageGroupId");
    if (groupId !== undefined) checkId("MessageGroupId", groupId);
    if (deduplicationId === undefined) {
      if (!isFifo || contentBasedDeduplication) return;
      throw invalidParameter(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
      );
    }
    checkId("MessageDeduplicationId", deduplicationId);
    if (!isFifo) throw notForThisType(deduplicationId, "MessageDeduplicationId");
  }

  function contentOf(input: SendInput, body: string, settings: QueueSettings): Content {
    return {
      id: randomUUID(),
      body,
      md5: createHash("md5").update(body).digest("hex"),
      attributes: input.MessageAttributes,
      attributesMd5: attributesMd5(input.MessageAttributes),
      traceHeader: input.MessageSystemAttributes?.["AWSTraceHeader"]?.StringValue,
      groupId: input.MessageGroupId,
      deduplicationId: settings.isFifo
        ? (input.MessageDeduplicationId ?? createHash("sha256").update(body).digest("hex"))
        : undefined,
      sequenceNumber: settings.isFifo ? nextSequence() : undefined,
    };
  }

  /** Twenty digits, so that it sorts as text too. */
  function nextSequence(): string {
    sequence += 256n;
    return `1${sequence.toString().padStart(SEQUENCE_DIGITS - 1, "0")}`;
  }

  /** The message that was sent under the same id in the last 5 minutes, deleted since or not (SQS-64). */
  function deduplicated(content: Content): Content {
    if (content.deduplicationId === undefined) return content;
    const scope = queue.settings().deduplicationScope === "messageGroup" ? content.groupId : "";
    const key = `${scope}\n${content.deduplicationId}`;
    const earlier = sent.get(key, now());
    if (earlier === undefined) sent.set(key, content, now());
    return earlier ?? content;
  }

  return {
    checkIds,
    prepare(input) {
      const settings = queue.settings();
      const { MessageBody: body, DelaySeconds: delay } = input;
      if (body === undefined || body === "") throw missingParameter("MessageBody");
      if (delay !== undefined) checkDelay(delay, settings);
      checkCharacters(body);
      checkAttributes(input.MessageAttributes ?? {});
      if (messageSize(input) > settings.maxMessageBytes) {
        throw invalidParameter(
          `One or more parameters are invalid. Reason: Message must be shorter than ${settings.maxMessageBytes} bytes.`,
        );
      }
      const delayMs = delay === undefined || settings.isFifo ? undefined : delay * 1_000;
      return { input, content: contentOf(input, body, settings), delayMs };
    },
    send(prepared) {
      const fresh: Prepared[] = [];
      const outputs = prepared.map((one): SendOutput => {
        const content = deduplicated(one.content);
        if (content === one.content) fresh.push(one);
        return {
          MessageId: content.id,
          MD5OfMessageBody: one.content.md5,
          MD5OfMessageAttributes: one.content.attributesMd5,
          SequenceNumber: content.sequenceNumber,
        };
      });
      queue.send(fresh);
      return outputs;
    },
  };
}

function checkId(parameter: string, id: string): void {
  if (ID.test(id)) return;
  throw invalidValue(
    id,
    parameter,
    `${parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
  );
}

function checkDelay(delay: number, { isFifo }: QueueSettings): void {
  if (!Number.isInteger(delay) || delay < 0 || delay > MAX_DELAY_SECONDS) {
    throw invalidValue(delay, "DelaySeconds", `DelaySeconds must be >= 0 and <= ${MAX_DELAY_SECONDS}.`);
  }
  // The queue's own delay is the only one there is (SQS-53).
  if (isFifo && delay > 0) throw notForThisType(delay, "DelaySeconds");
}

function notForThisType(value: unknown, parameter: string): Error {
  return invalidValue(value, parameter, "The request include parameter that is not valid for this queue type");
}
