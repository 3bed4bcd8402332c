import type { Place } from "../../heap.ts";
import type { Session } from "./session.ts";

/** A message as it was sent, in the pieces that are put together again for a receiver. The bytes stay what they were. */
export interface Sections {
  readonly durable: boolean;
  readonly priority: number | undefined;
  /** Message annotations, each as the bytes of its key and its value. */
  readonly annotations: readonly Buffer[];
  /** The section of properties. */
  readonly properties: Buffer;
  /** The section of application properties; `undefined` when there is none. */
  readonly applicationProperties: Buffer | undefined;
  /** The sections of the body, and the footer. */
  readonly body: Buffer;
}

/** What was sent, and what the broker has to know of it. Shared by all copies. */
export interface Content {
  /** The message id as text. */
  readonly id: string;
  readonly sessionId: string | undefined;
  readonly timeToLiveMs: number | undefined;
  /** When it is to be enqueued, ms since the epoch. */
  readonly scheduledAt: number | undefined;
  /** As it travelled. */
  readonly bytes: number;
  readonly sections: Sections;
}

/** Application properties that a settlement adds. The broker does not look at the values. */
export type Properties = Readonly<Record<string, unknown>>;

export interface Lock {
  /** A UUID: another one for each delivery, the same over renewals (SB-01). */
  readonly token: string;
}

/** One message in one queue. Only the inventory writes here. */
export interface Message {
  readonly content: Content;
  readonly sequenceNumber: number;
  /** The number that it had where it was sent to first. */
  readonly enqueuedSequenceNumber: number;
  /** ms since the epoch. */
  readonly enqueuedAt: number;
  /** ms since the epoch; `Infinity`: never. */
  readonly expiresAt: number;
  /** Where it was dead-lettered. */
  readonly deadLetterSource: string | undefined;
  readonly session: Session | undefined;
  state: "active" | "deferred" | "scheduled" | "gone";
  lock: Lock | undefined;
  /** Deliveries that failed: the first one finds 0 (SB-30). */
  deliveryCount: number;
  /** What settlements added to its application properties. */
  properties: Properties;
  /** When time does something to it, ms: its lock ends, it is enqueued, or it expires. */
  dueAt: number;
  deadline: Place<Message> | undefined;
  /** Where it waits for a receiver. */
  ready: Place<Message> | undefined;
}

/** Where a message comes from. */
export interface Origin {
  readonly enqueuedSequenceNumber?: number;
  readonly enqueuedAt?: number;
  readonly deliveryCount?: number;
  readonly deadLetterSource?: string;
  readonly properties?: Properties;
}
