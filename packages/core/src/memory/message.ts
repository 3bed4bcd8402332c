import { EVENT_CONTENT_TYPE } from "../envelope/envelope.ts";
import type { Delivery } from "../queue/driver.ts";

/**
 * A message inside the memory broker.
 *
 * `ready` -> `leased` -> (complete) `gone`, (lapse, abandon) `ready`, (abandon with delay) `delayed` -> `ready`.
 */
export interface Message {
  /** Order of sending in its queue; redelivery follows it. */
  readonly seq: number;
  /** What a consumer sees as the broker's id. Two messages share it when the broker duplicated one. */
  readonly messageId: string;
  readonly content: Content;
  /** Broker's wall time of sending, ms since the epoch. */
  readonly sentAt: number;
  state: "ready" | "delayed" | "leased" | "gone";
  /** Deliveries so far. */
  deliveries: number;
  /** Of the latest delivery; empty before the first. */
  token: string;
  /** Monotonic time of the latest delivery, ms. */
  receivedAt: number;
  /** Monotonic time at which its lease lapses or its delay ends, ms. */
  dueAt: number;
  /** Place among the queue's timers. */
  timerIndex: number;
  /** Place among the returned or the hidden ones, see `shelf.ts`. */
  orderIndex: number;
}

/** What a sender put in. */
export interface Content {
  /** The sender's id, for duplicate detection. */
  readonly id: string;
  readonly body: string;
  readonly contentType: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly orderingKey?: string;
}

export function createMessage(seq: number, messageId: string, content: Content, sentAt: number): Message {
  return {
    seq,
    messageId,
    content,
    sentAt,
    state: "ready",
    deliveries: 0,
    token: "",
    receivedAt: 0,
    dueAt: 0,
    timerIndex: -1,
    orderIndex: -1,
  };
}

/** The content of a delivery, to be sent on as a message of its own. */
export function copyOf(delivery: Delivery, id: string, attributes: Readonly<Record<string, string>>): Content {
  const { body, contentType = EVENT_CONTENT_TYPE, orderingKey } = delivery;
  return { id, body, contentType, attributes, ...(orderingKey !== undefined && { orderingKey }) };
}
