import { invalid } from "@leasehold/core/driver";

/** A queue, or a subscription of a topic. */
export interface ServicebusEntity {
  /** The queue's name. */
  readonly queue?: string;
  /** Where a subscription gets its messages from, and where they are sent to. */
  readonly topic?: string;
  readonly subscription?: string;
}

/** An entity under all the names that it goes by. */
export interface EntityNames {
  /** In task ids: `orders`, or `orders/billing` for a subscription. */
  readonly queue: string;
  /** Sent to: the queue or the topic. */
  readonly target: string;
  /** Received from: the queue, or `orders/Subscriptions/billing`. */
  readonly path: string;
  readonly subscription?: string;
}

/** Up to 260 characters, in segments; the service itself folds the case. */
const PATH = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9_])?$/;
/** Of a subscription: up to 50 characters. */
const SUBSCRIPTION = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9_])?$/;

/** Throws `InvalidArgument` for what is neither a queue nor a subscription of a topic. */
export function namesOf({ queue, topic, subscription }: ServicebusEntity): EntityNames {
  if (queue !== undefined) {
    if (topic !== undefined || subscription !== undefined)
      throw invalid("queue", "a queue, or a topic and a subscription", "both");
    if (!PATH.test(queue)) throw invalid("queue", "the name of a queue, such as orders", queue);
    return { queue, target: queue, path: queue };
  }
  if (topic === undefined || !PATH.test(topic)) {
    throw invalid("topic", "the name of a topic, such as orders, or a queue instead", topic ?? "nothing");
  }
  if (subscription === undefined || !SUBSCRIPTION.test(subscription)) {
    throw invalid(
      "subscription",
      "the name of a subscription of the topic, such as billing",
      subscription ?? "nothing",
    );
  }
  return {
    queue: `${topic}/${subscription}`,
    target: topic,
    path: `${topic}/Subscriptions/${subscription}`,
    subscription,
  };
}
