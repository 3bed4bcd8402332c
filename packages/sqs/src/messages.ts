import { createHash } from "node:crypto";
import type { Message, MessageAttributeValue, SendMessageBatchRequestEntry } from "@aws-sdk/client-sqs";
import { type Delivery, EVENT_CONTENT_TYPE, type OutgoingMessage, withoutMarks } from "@leasehold/core/driver";
import { secondsUp } from "./capabilities.ts";

/** A delivery with what only SQS has to know of it; it survives a spread, and its absence is no error. */
export interface SqsDelivery extends Delivery {
  /** When the answer came in, by the driver's clock: from here the twelve hours run (SQS-05). */
  readonly received?: { readonly wall: number; readonly monotonic: number };
  /** As they came: copies keep binary attributes and the types of all. */
  readonly sqsAttributes?: Readonly<Record<string, MessageAttributeValue>>;
  /** On a standard queue the tenant of a fair queue, and no order (SQS-80). */
  readonly groupId?: string;
  /** Where SQS itself took it from when it became a dead letter. */
  readonly deadLetterSourceArn?: string;
}

/** An entry that is not in a batch yet. Within a batch, entries are told apart by their place: a message may be there twice (SQS-41). */
export type SendEntry = Omit<SendMessageBatchRequestEntry, "Id"> & { readonly MessageBody: string };

/** What a receive asks for (SQS-50). */
export const SYSTEM_ATTRIBUTES = [
  "ApproximateReceiveCount",
  "SentTimestamp",
  "MessageGroupId",
  "DeadLetterQueueSourceArn",
] as const;

/** Carries the content type, which SQS has no place for. */
const CONTENT_TYPE = "content-type";
/** User attributes of one message (SQS-45). */
const MAX_ATTRIBUTES = 10;
/** Groups of messages that asked for no order: a FIFO queue takes none without a group. */
const KEYLESS = "leasehold-keyless.";

/** How a message is sent. On a FIFO queue its id is the deduplication id (SQS-64). */
export function entryOf(message: OutgoingMessage, fifo: boolean): SendEntry {
  const { id, body, contentType, attributes = {}, delayMs = 0, orderingKey } = message;
  return {
    MessageBody: body,
    MessageAttributes: { [CONTENT_TYPE]: textValue(contentType), ...textValues(attributes) },
    ...(fifo
      ? { MessageDeduplicationId: id, MessageGroupId: orderingKey ?? keylessGroup(id) }
      : { DelaySeconds: secondsUp(delayMs) }),
  };
}

/**
 * A delivery as a message of its own, without the marks that it may have and with those given. `essential` marks come
 * before what the sender put in, the others (the text of a reason, which the task record has too) after it: what is beyond
 * the ten attributes that SQS takes stays behind.
 */
export function copyOf(
  delivery: SqsDelivery,
  id: string,
  fifo: boolean,
  marks: { readonly essential: Readonly<Record<string, string>>; readonly all: Readonly<Record<string, string>> },
): SendEntry {
  const own = withoutMarks(
    delivery.sqsAttributes ?? {
      [CONTENT_TYPE]: textValue(delivery.contentType ?? EVENT_CONTENT_TYPE),
      ...textValues(delivery.attributes),
    },
  );
  const attributes = { ...textValues(marks.essential), ...own, ...textValues(marks.all) };
  const groupId = delivery.groupId ?? delivery.orderingKey;
  return {
    MessageBody: delivery.body,
    MessageAttributes: Object.fromEntries(Object.entries(attributes).slice(0, MAX_ATTRIBUTES)),
    ...(fifo && { MessageDeduplicationId: id, MessageGroupId: groupId ?? keylessGroup(id) }),
    // On a standard queue a tenant's letters stay those of the tenant.
    ...(!fifo && groupId !== undefined && { MessageGroupId: groupId }),
  };
}

/** Bytes by which SQS judges the size of a message: body, and name, type and value of each attribute (SQS-43). */
export function bytesOf({ MessageBody, MessageAttributes = {} }: SendEntry): number {
  let bytes = Buffer.byteLength(MessageBody);
  for (const [name, { DataType = "", StringValue = "", BinaryValue }] of Object.entries(MessageAttributes)) {
    bytes +=
      Buffer.byteLength(name) + Buffer.byteLength(DataType) + (BinaryValue?.length ?? Buffer.byteLength(StringValue));
  }
  return bytes;
}

/** Is the body what the sender's server had? Checked here, message by message, so that a bad one costs only itself (SQS-30). */
export function isIntact({ Body = "", MD5OfBody }: Message): boolean {
  return MD5OfBody === undefined || MD5OfBody === createHash("md5").update(Body).digest("hex");
}

/** A received message. Binary attributes are not text and are left out; copies keep them. */
export function deliveryOf(
  message: Message,
  leaseMs: number,
  fifo: boolean,
  received: NonNullable<SqsDelivery["received"]>,
): SqsDelivery {
  const { ReceiptHandle: token = "", MessageId: messageId = "", Body: body = "", Attributes: system = {} } = message;
  const { MessageAttributes: sqsAttributes = {} } = message;
  const attributes: Record<string, string> = {};
  let contentType: string | undefined;
  for (const [name, { StringValue }] of Object.entries(sqsAttributes)) {
    if (StringValue === undefined) continue;
    if (name.toLowerCase() === CONTENT_TYPE) contentType = StringValue;
    else attributes[name] = StringValue;
  }
  const groupId = system.MessageGroupId;
  const deliveryCount = Number(system.ApproximateReceiveCount);
  const sentAt = Number(system.SentTimestamp);
  const isKeyed = fifo && groupId !== undefined && !groupId.startsWith(KEYLESS);
  return {
    token,
    messageId,
    body,
    ...(contentType !== undefined && { contentType }),
    attributes,
    ...(deliveryCount >= 1 && { deliveryCount }),
    ...(sentAt >= 0 && { sentAt }),
    ...(isKeyed && { orderingKey: groupId }),
    leaseMs,
    received,
    sqsAttributes,
    ...(groupId !== undefined && { groupId }),
    ...(system.DeadLetterQueueSourceArn !== undefined && { deadLetterSourceArn: system.DeadLetterQueueSourceArn }),
  };
}

/** Is this a group that only the driver gives? An ordering key like it would come back as none. */
export function isKeyless(orderingKey: string): boolean {
  return orderingKey.startsWith(KEYLESS);
}

/** Each message without a key is a group by itself, so that none waits for another. */
function keylessGroup(id: string): string {
  return `${KEYLESS}${createHash("sha256").update(id).digest("base64url")}`;
}

function textValues(values: Readonly<Record<string, string>>): Record<string, MessageAttributeValue> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textValue(value)]));
}

function textValue(value: string): MessageAttributeValue {
  return { DataType: "String", StringValue: value };
}
