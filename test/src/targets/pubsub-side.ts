import type { v1 } from "@google-cloud/pubsub";
import type { Clock } from "@leasehold/core/driver";
import type { PubsubClients } from "@leasehold/pubsub";
import type { BrokerAct, FaultyVerb, QueueFault, QueueHarness } from "../queue/harness.ts";

/** A Pub/Sub to run the cases on: the embedded one, Google's emulator, or the service. */
export interface PubsubSide
  extends Omit<QueueHarness, "open" | "openMissing" | "openWithWrongCredentials" | "overheadBytes"> {
  readonly project: string;
  /** The clock of drivers, where a case moves it. */
  readonly time: { readonly clock?: Clock };
  /** It goes on after a case, so what a case made has to be removed. */
  readonly isShared: boolean;
  /** `token`: default, the right one. */
  connect(token?: string): PubsubClients;
  failNext(verb: FaultyVerb, fault: QueueFault): void;
  act(act: BrokerAct, queue: PubsubQueue, messageId: string): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** A topic with one subscription that were made for a case, and those of its dead letters. Short names. */
export interface PubsubQueue {
  readonly topic: string;
  readonly subscription: string;
  readonly deadLetterTopic?: string;
  readonly deadLetterSubscription?: string;
}

export interface PubsubQueueShape {
  readonly name: string;
  readonly exactlyOnce: boolean;
  readonly ordering: boolean;
  readonly deadLetters: boolean;
  /** 5 to 100 (PS-41). */
  readonly maxDeliveries: number;
}

/** The most that a dead-letter policy allows (PS-41). */
export const MANY_DELIVERIES = 100;
/** The shortest ack deadline that a subscription can have (PS-03): how long a lost answer to a pull may strand messages, s. */
export const ACK_DEADLINE_SECONDS = 10;

type Admin = Pick<PubsubClients, "control" | "publisher">;

/** Makes a topic and a subscription of this shape, and the same for its dead letters. */
export async function makeQueue(
  { control, publisher }: Admin,
  project: string,
  shape: PubsubQueueShape,
): Promise<PubsubQueue> {
  const { name, exactlyOnce, ordering, deadLetters, maxDeliveries } = shape;
  const topicOf = (topic: string): string => `projects/${project}/topics/${topic}`;

  async function create(id: string, more: Parameters<v1.SubscriberClient["createSubscription"]>[0]): Promise<void> {
    await publisher.createTopic({ name: topicOf(id) });
    const subscription = `projects/${project}/subscriptions/${id}`;
    const ackDeadlineSeconds = ACK_DEADLINE_SECONDS;
    await control.createSubscription({ name: subscription, topic: topicOf(id), ackDeadlineSeconds, ...more });
  }

  const own = { enableExactlyOnceDelivery: exactlyOnce, enableMessageOrdering: ordering };
  const queue = { topic: name, subscription: name };
  if (!deadLetters) {
    await create(name, own);
    return queue;
  }
  const dead = `${name}-dead`;
  await create(dead, { enableExactlyOnceDelivery: exactlyOnce });
  const deadLetterPolicy = { deadLetterTopic: topicOf(dead), maxDeliveryAttempts: maxDeliveries };
  await create(name, { ...own, deadLetterPolicy });
  return { ...queue, deadLetterTopic: dead, deadLetterSubscription: dead };
}

export async function deleteQueue({ control, publisher }: Admin, project: string, queue: PubsubQueue): Promise<void> {
  for (const name of [queue.subscription, queue.deadLetterSubscription]) {
    if (name !== undefined)
      await control.deleteSubscription({ subscription: `projects/${project}/subscriptions/${name}` });
  }
  for (const name of [queue.topic, queue.deadLetterTopic]) {
    if (name !== undefined) await publisher.deleteTopic({ topic: `projects/${project}/topics/${name}` });
  }
}

/** Publishes every dead letter to the topic again, marks and all, as an operator does it. Answers how many there were. */
export async function redriveByHand(
  { control, publisher }: Admin,
  project: string,
  { topic, deadLetterSubscription }: PubsubQueue,
): Promise<number> {
  const subscription = `projects/${project}/subscriptions/${deadLetterSubscription}`;
  const [{ receivedMessages }] = await control.pull({ subscription, maxMessages: 1_000, returnImmediately: true });
  const letters = receivedMessages ?? [];
  if (letters.length === 0) return 0;
  const messages = letters.map(({ message }) => ({
    data: message?.data ?? null,
    attributes: message?.attributes ?? null,
    orderingKey: message?.orderingKey ?? null,
  }));
  await publisher.publish({ topic: `projects/${project}/topics/${topic}`, messages });
  await control.acknowledge({ subscription, ackIds: letters.map(({ ackId }) => ackId ?? "") });
  return letters.length;
}

/** What a subscription of this kind cannot do, anywhere. */
export function cannotOf(exactlyOnce: boolean, ordering: boolean, deadLetters: boolean): QueueHarness["cannot"] {
  return {
    "duplicate detection": "Pub/Sub detects no duplicates among what is published (PS-50)",
    "total lease": "Pub/Sub lets a message be held for any time in all (PS-05)",
    count: "Pub/Sub has no call that counts messages",
    ...(exactlyOnce && { duplicate: "with exactly-once delivery no message is out twice (PS-04)" }),
    ...(!ordering && { ordering: "this subscription keeps no order" }),
    ...(!deadLetters && {
      "dead letters": "this subscription has no dead-letter topic: the record is the dead letter",
    }),
  };
}
