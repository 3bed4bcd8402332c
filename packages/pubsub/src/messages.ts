import { isUtf8 } from "node:buffer";
import type { protos } from "@google-cloud/pubsub";
import { type Delivery, type OutgoingMessage, withoutMarks } from "@leasehold/core/driver";

type ReceivedMessage = protos.google.pubsub.v1.IReceivedMessage;

/** A delivery with what only Pub/Sub has to know of it; it survives a spread, and its absence is no error. */
export interface PubsubDelivery extends Delivery {
  /** The body as it came, where it is no UTF-8: copies keep it. */
  readonly data?: Uint8Array;
  /** On a subscription that keeps no order, a key that its publisher gave all the same: copies keep it. */
  readonly unkeptOrderingKey?: string;
}

/** A message as it is published. */
export interface PublishEntry {
  readonly data: Uint8Array;
  readonly attributes: Record<string, string>;
  readonly orderingKey?: string;
}

/** Carries the content type, which Pub/Sub has no place for. */
const CONTENT_TYPE = "content-type";
/** Attributes of one message (PS-50). */
const MAX_ATTRIBUTES = 100;

/**
 * What the service puts on a message that it forwards to a dead-letter topic (PS-42). The driver puts the first two on its own
 * copies, so that one topic can take the letters of several queues.
 */
const SOURCE_SUBSCRIPTION = "CloudPubSubDeadLetterSourceSubscription";
const SOURCE_PROJECT = "CloudPubSubDeadLetterSourceSubscriptionProject";
const OF_SERVICE = /^CloudPubSub/;

/** How a message is sent. Its id goes nowhere: Pub/Sub detects no duplicates. */
export function entryOf({ body, contentType, attributes = {}, orderingKey }: OutgoingMessage): PublishEntry {
  return {
    data: Buffer.from(body),
    attributes: { ...attributes, [CONTENT_TYPE]: contentType },
    ...(orderingKey !== undefined && { orderingKey }),
  };
}

/** A subscription, by the two parts of its full name. */
export interface SubscriptionName {
  readonly project: string;
  readonly subscription: string;
}

/**
 * A delivery as a dead letter of this subscription, without the marks that it may have and with those given. `essential` marks come
 * before what the sender put in, the others (the text of a reason, which the task record has too) after it: what is beyond the
 * hundred attributes that Pub/Sub takes stays behind.
 */
export function letterOf(
  delivery: PubsubDelivery,
  source: SubscriptionName,
  marks: { readonly essential: Readonly<Record<string, string>>; readonly all: Readonly<Record<string, string>> },
): PublishEntry {
  return copyOf(delivery, {
    ...marks.essential,
    [SOURCE_SUBSCRIPTION]: source.subscription,
    [SOURCE_PROJECT]: source.project,
    ...ownAttributes(delivery),
    ...marks.all,
  });
}

/** A dead letter as it was before it became one. */
export function redrivenOf(letter: PubsubDelivery): PublishEntry {
  return copyOf(letter, ownAttributes(letter));
}

/** The subscription that a dead letter came from; absent: nobody has said. */
export function sourceOf({ attributes }: Delivery): SubscriptionName | undefined {
  const { [SOURCE_SUBSCRIPTION]: subscription, [SOURCE_PROJECT]: project } = attributes;
  return subscription === undefined || project === undefined ? undefined : { project, subscription };
}

function ownAttributes({ attributes, contentType }: Delivery): Readonly<Record<string, string>> {
  const own = Object.entries(withoutMarks(attributes)).filter(([name]) => !OF_SERVICE.test(name));
  // First, so that it is never what stays behind: without it nobody could read the message.
  return { ...(contentType !== undefined && { [CONTENT_TYPE]: contentType }), ...Object.fromEntries(own) };
}

function copyOf(delivery: PubsubDelivery, attributes: Readonly<Record<string, string>>): PublishEntry {
  const orderingKey = delivery.orderingKey ?? delivery.unkeptOrderingKey;
  return {
    data: delivery.data ?? Buffer.from(delivery.body),
    attributes: Object.fromEntries(Object.entries(attributes).slice(0, MAX_ATTRIBUTES)),
    ...(orderingKey !== undefined && { orderingKey }),
  };
}

/** A received message, held for `leaseMs`. A body that is no UTF-8 is handed out as text all the same: core dead-letters it. */
export function deliveryOf(
  { ackId, message, deliveryAttempt }: ReceivedMessage,
  leaseMs: number,
  ordering: boolean,
): PubsubDelivery {
  const { data, messageId, publishTime, orderingKey } = message ?? {};
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : Buffer.from(data ?? []);
  const attributes: Record<string, string> = {};
  let contentType: string | undefined;
  for (const [name, value] of Object.entries(message?.attributes ?? {})) {
    if (name.toLowerCase() === CONTENT_TYPE) contentType = value;
    else attributes[name] = value;
  }
  const keyed = typeof orderingKey === "string" && orderingKey !== "" ? orderingKey : undefined;
  // 0 where the subscription has no dead-letter policy: then nobody counts (PS-40).
  const deliveryCount = deliveryAttempt ?? 0;
  const seconds = Number(publishTime?.seconds ?? 0);
  return {
    token: ackId ?? "",
    messageId: messageId ?? "",
    body: bytes.toString(),
    ...(contentType !== undefined && { contentType }),
    attributes,
    ...(deliveryCount >= 1 && { deliveryCount }),
    ...(seconds > 0 && { sentAt: seconds * 1_000 + Math.floor((publishTime?.nanos ?? 0) / 1_000_000) }),
    ...(keyed !== undefined && (ordering ? { orderingKey: keyed } : { unkeptOrderingKey: keyed })),
    leaseMs,
    ...(!isUtf8(bytes) && { data: bytes }),
  };
}

/** Bytes that a message takes in a publish request (PS-50): the encoding of protocol buffers, field by field. */
export function bytesOf({ data, attributes, orderingKey = "" }: PublishEntry): number {
  let bytes = fieldBytes(data.length) + fieldBytes(Buffer.byteLength(orderingKey));
  for (const [name, value] of Object.entries(attributes)) {
    bytes += fieldBytes(fieldBytes(Buffer.byteLength(name)) + fieldBytes(Buffer.byteLength(value)));
  }
  return fieldBytes(bytes);
}

/** A tag, the length in groups of seven bits, the content. */
export function fieldBytes(length: number): number {
  let bytes = 2 + length;
  for (let rest = length; rest > 127; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}
