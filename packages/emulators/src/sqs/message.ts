import type { Place } from "../linked-list.ts";

/** A user's attribute of a message, as it travels. Binary values are base64. */
export interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue?: string;
  readonly BinaryValue?: string;
}

/** What was sent. It stays the same in whatever queue the message is, and is shared by copies. */
export interface Content {
  readonly id: string;
  readonly body: string;
  readonly md5: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>> | undefined;
  readonly attributesMd5: string | undefined;
  /** The only attribute of the system that a sender may set. */
  readonly traceHeader: string | undefined;
  /** On a FIFO queue the unit of order; on a standard one a tenant of a fair queue, without order and without a lock (SQS-80). */
  readonly groupId: string | undefined;
  readonly deduplicationId: string | undefined;
  readonly sequenceNumber: string | undefined;
}

/** One message in one queue. Only the queue and its shelf write here. */
export interface Message {
  readonly content: Content;
  /** Counts the messages of a queue; part of the receipt handle. */
  readonly number: number;
  /** ms since the epoch. */
  readonly sentAt: number;
  /** The queue that it was dead-lettered from. */
  readonly deadLetterSourceArn: string | undefined;
  state: "visible" | "delayed" | "in-flight" | "gone";
  /** When it can be received again, ms; of a visible one: since when. */
  visibleAt: number;
  /** Goes on in the dead-letter queue (SQS-51). With `number` it makes a receipt handle, so that each receive has its own (SQS-01). */
  receiveCount: number;
  firstReceivedAt: number | undefined;
  /** When it was last received; 12 h from here no lease can reach (SQS-05). */
  receivedAt: number;
  /** How often a client set its visibility (SQS-63). */
  changes: number;
  /** How many of the next deliveries carry a wrong MD5 (SQS-30). */
  wrongMd5s: number;
  hiddenIndex: number;
  place: Place<Message> | undefined;
}

export interface MessageOrigin {
  readonly sentAt: number;
  readonly receiveCount?: number;
  readonly firstReceivedAt?: number | undefined;
  readonly deadLetterSourceArn?: string | undefined;
}

export function createMessage(content: Content, number: number, origin: MessageOrigin): Message {
  return {
    content,
    number,
    sentAt: origin.sentAt,
    deadLetterSourceArn: origin.deadLetterSourceArn,
    state: "visible",
    visibleAt: origin.sentAt,
    receiveCount: origin.receiveCount ?? 0,
    firstReceivedAt: origin.firstReceivedAt,
    receivedAt: 0,
    changes: 0,
    wrongMd5s: 0,
    hiddenIndex: -1,
    place: undefined,
  };
}
