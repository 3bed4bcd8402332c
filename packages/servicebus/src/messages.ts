import type { Delivery as AmqpDelivery, ServiceBusMessage, ServiceBusReceivedMessage } from "@azure/service-bus";
import {
  copyAttributes,
  type Delivery,
  deadLetterMarks,
  type OutgoingMessage,
  readCopyAttributes,
  withoutMarks,
} from "@leasehold/core/driver";
import type { LinkEvents } from "./losses.ts";
import type { HeldSession } from "./session.ts";

/** A delivery with what only Service Bus has to know of it; it survives a spread, and its absence is no error. */
export interface ServicebusDelivery extends Delivery {
  /** A function, so that whoever prints or stores a delivery does not print or store a connection. */
  readonly held?: () => HeldMessage;
}

export interface HeldMessage {
  readonly message: ServiceBusReceivedMessage;
  /** The session whose lock holds it. */
  readonly session?: HeldSession;
}

/** A message that came, and how long it was locked from then on. */
export interface Arrival extends HeldMessage {
  readonly lockMs: number;
  readonly monotonic: number;
}

/** What a message of the SDK has besides what its type says: the AMQP delivery, with the link that it came on. */
type OnLink = ServiceBusReceivedMessage & { readonly delivery?: Pick<AmqpDelivery, "link"> };

type Properties = NonNullable<ServiceBusMessage["applicationProperties"]>;

/** Where the service puts a dead letter's reason, beside the properties that the sender gave it. */
const NATIVE_MARKS: ReadonlySet<string> = new Set(["DeadLetterReason", "DeadLetterErrorDescription"]);
/** A lock token. */
const GUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/**
 * How a message is sent: bytes, so that nothing parses or quotes it on the way (SB-42). In an entity with sessions a message
 * without a key is a session by itself.
 */
export function messageOf(message: OutgoingMessage, sessions: boolean, due: Date | undefined): ServiceBusMessage {
  const { id, body, contentType, attributes = {}, orderingKey } = message;
  return {
    body: Buffer.from(body),
    messageId: id,
    contentType,
    applicationProperties: { ...attributes },
    ...(sessions && { sessionId: orderingKey ?? id }),
    ...(due !== undefined && { scheduledEnqueueTimeUtc: due }),
  };
}

/** A delivery of what came; `leftMs`: how long its lock still holds. */
export function deliveryOf(arrival: HeldMessage, sessions: boolean, leftMs: number): ServicebusDelivery {
  const { message } = arrival;
  const { contentType, deliveryCount = 0, enqueuedTimeUtc, sessionId } = message;
  const { attributes, carriedDeliveries } = readCopyAttributes(textsOf(message.applicationProperties ?? {}));
  const isKeyed = sessions && sessionId !== undefined && sessionId !== message.messageId;
  return {
    token: message.lockToken ?? "",
    messageId: String(message.sequenceNumber ?? message.messageId ?? ""),
    body: textOf(message.body),
    ...(contentType !== undefined && { contentType }),
    attributes,
    // What the wire counts are the deliveries before this one (SB-30).
    deliveryCount: deliveryCount + 1 + carriedDeliveries,
    ...(enqueuedTimeUtc !== undefined && { sentAt: enqueuedTimeUtc.getTime() }),
    ...(isKeyed && { orderingKey: sessionId }),
    leaseMs: leftMs,
    held: () => arrival,
  };
}

/** A dead letter, whose reason is where the service has it, as one that carries it where leasehold reads it. */
export function letterOf(arrival: Arrival, leftMs: number, maxBytes: number): ServicebusDelivery {
  const { deadLetterReason: code, deadLetterErrorDescription: text = "" } = arrival.message;
  const { orderingKey: _key, ...delivery } = deliveryOf(arrival, false, leftMs);
  if (code === undefined) return delivery;
  return {
    ...delivery,
    attributes: { ...delivery.attributes, ...deadLetterMarks({ code, text }, undefined, maxBytes) },
  };
}

/**
 * The copy that replaces a delivery, under an id of its own, since duplicate detection would swallow one of the same id
 * without a word (SB-34). It carries the deliveries before it.
 */
export function copyOf(delivery: ServicebusDelivery, copyId: string, sessions: boolean, due: Date): ServiceBusMessage {
  return {
    ...resent(delivery, copyId, sessions),
    applicationProperties: { ...propertiesOf(delivery), ...copyAttributes({ ...delivery, attributes: {} }) },
    scheduledEnqueueTimeUtc: due,
  };
}

/** A dead letter as the message that it was, which begins anew. */
export function redrivenOf(delivery: ServicebusDelivery, sessions: boolean): ServiceBusMessage {
  return {
    ...resent(delivery, `redriven.${delivery.messageId}`, sessions),
    applicationProperties: withoutMarks(propertiesOf(delivery)),
  };
}

/** May this token be one that the service gave? */
export function isToken(token: string): boolean {
  return GUID.test(token);
}

/** No lock has this one: what the service answers to it is about the entity, and about who asks. */
export const NO_TOKEN = "00000000-0000-0000-0000-000000000000";

/**
 * What the SDK takes for a message that is settled, or renewed, by its lock token alone: one without a link, as it hands out
 * deferred messages (SB-06, SB-07).
 */
export function byToken(lockToken: string, sessionId?: string): ServiceBusReceivedMessage {
  const message = {
    body: undefined,
    lockToken,
    state: "active" as const,
    _rawAmqpMessage: { body: undefined },
    delivery: {},
    ...(sessionId !== undefined && { sessionId }),
  };
  return message;
}

/**
 * The link that it came on; `gone`: it is not there any more. The SDK goes by the link's name, and a receiver that came back
 * has the old name: it would wait for the answer to a settle that went nowhere (SB-05).
 */
export function linkOf({ delivery }: OnLink): LinkEvents | "gone" | undefined {
  const link = delivery?.link;
  return link?.is_open() === false ? "gone" : link;
}

function resent(delivery: ServicebusDelivery, messageId: string, sessions: boolean): ServiceBusMessage {
  const original = delivery.held?.().message;
  const { contentType = original?.contentType, orderingKey } = delivery;
  const { subject, correlationId, to, replyTo, replyToSessionId, timeToLive, partitionKey, sessionId } = original ?? {};
  const groups = sessions ? { sessionId: keyOf(original) ?? orderingKey ?? messageId } : { partitionKey, sessionId };
  const fields = { contentType, subject, correlationId, to, replyTo, replyToSessionId, timeToLive, ...groups };
  return { body: Buffer.from(delivery.body), messageId, ...defined(fields) };
}

/** The session of a message that is not one by itself. */
function keyOf(original: ServiceBusReceivedMessage | undefined): string | undefined {
  return original?.sessionId === original?.messageId ? undefined : original?.sessionId;
}

/** As they came: copies keep numbers, truth values and times. */
function propertiesOf({ held, attributes }: ServicebusDelivery): Properties {
  const properties = Object.entries(held?.().message.applicationProperties ?? {});
  const others = properties.filter(([name, value]) => !NATIVE_MARKS.has(name) && typeof value !== "string");
  return { ...Object.fromEntries(others), ...attributes };
}

function textsOf(properties: Properties): Readonly<Record<string, string>> {
  const texts = Object.entries(properties).filter(
    ([name, value]) => typeof value === "string" && !NATIVE_MARKS.has(name),
  );
  return Object.fromEntries(texts) as Readonly<Record<string, string>>;
}

/** Messages of other producers may have a body that is no bytes. */
function textOf(body: unknown): string {
  if (Buffer.isBuffer(body)) return body.toString("utf8");
  if (body instanceof Uint8Array) return Buffer.from(body).toString("utf8");
  if (typeof body === "string") return body;
  return body === undefined || body === null ? "" : JSON.stringify(body);
}

type Defined<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
