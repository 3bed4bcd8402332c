/** Messages for the Service Bus broker without a server in front of it. */
import rhea from "rhea";
import { splitMessage } from "../servicebus/amqp/split.ts";
import type { Consumer } from "../servicebus/broker/consumers.ts";
import type { Content, Message } from "../servicebus/broker/message.ts";

export interface ContentOptions {
  readonly sessionId?: string;
  readonly timeToLiveMs?: number;
  /** ms since the epoch. */
  readonly scheduledAt?: number;
  readonly body?: string;
}

/** A message as it comes from a sender. */
export function contentOf(
  id: string,
  { sessionId, timeToLiveMs, scheduledAt, body = "" }: ContentOptions = {},
): Content {
  return splitMessage(
    rhea.message.encode({
      message_id: id,
      body,
      ...(sessionId === undefined ? {} : { group_id: sessionId }),
      ...(timeToLiveMs === undefined ? {} : { ttl: timeToLiveMs }),
      ...(scheduledAt === undefined
        ? {}
        : { message_annotations: { "x-opt-scheduled-enqueue-time": new Date(scheduledAt) } }),
    }),
  );
}

export interface HandConsumer extends Consumer {
  /** What it got, in order. */
  readonly got: Message[];
  /** How much more it takes. */
  credit: number;
}

export function createHandConsumer(credit: number, locks = true): HandConsumer {
  const consumer: HandConsumer = {
    hold: undefined,
    locks,
    got: [],
    credit,
    capacity: () => consumer.credit,
    deliver(messages) {
      consumer.got.push(...messages);
      consumer.credit -= messages.length;
    },
  };
  return consumer;
}

export function idsOf(messages: Iterable<Message>): readonly string[] {
  return Array.from(messages, ({ content }) => content.id);
}
