/** What a check has at hand: the vendor's clients, connected to the server under test, and shorthands over them. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PubSub, type protos, type Subscription, type SubscriptionOptions, v1 } from "@google-cloud/pubsub";
import { type Delivery, deliveryOf } from "./delivery.ts";
import { openStream, type Stream } from "./stream.ts";
import { createUntil, type Until } from "./until.ts";

export type SubscriptionSettings = Omit<protos.google.pubsub.v1.ISubscription, "name" | "topic">;
export type MessageSettings = protos.google.pubsub.v1.IPubsubMessage;

export interface Bench {
  readonly project: string;
  readonly publisher: v1.PublisherClient;
  readonly subscriber: v1.SubscriberClient;
  /** The high-level client, of its own for each call. */
  sdk(): PubSub;
  /** A subscription of the high-level client, of a client of its own. */
  listener(name: string, options?: SubscriptionOptions): Subscription;
  /** A name that nobody has, in full. */
  name(kind: "topics" | "subscriptions"): string;
  /** A new topic; its full name. */
  topic(): Promise<string>;
  /** A new topic with a subscription to it. Default: the shortest ack deadline that there is, 10 s (PS-03). */
  queue(settings?: SubscriptionSettings): Promise<Queue>;
  /** A stream of the low-level client. */
  stream(first: object): Stream;
  readonly until: Until;
}

/** A topic and one subscription to it. */
export interface Queue {
  readonly topic: string;
  readonly subscription: string;
  /** Publishes one message for each text; answers their ids. */
  send(...texts: readonly string[]): Promise<readonly string[]>;
  /** Publishes texts in one request, with this ordering key. */
  sendInOrder(orderingKey: string, ...texts: readonly string[]): Promise<readonly string[]>;
  /** One pull that does not wait; what is there may not all come with it. */
  look(maxMessages?: number): Promise<readonly Delivery[]>;
  /** Pulls until so many messages came, and no more at once than are missing. */
  take(count: number): Promise<readonly Delivery[]>;
  /** Pulls until a message came. */
  one(): Promise<Delivery>;
  ack(...ackIds: readonly string[]): Promise<void>;
  /** Sets the time left, s; 0 gives them back. */
  modify(seconds: number, ...ackIds: readonly string[]): Promise<void>;
  stream(request?: object): Stream;
}

/** Of one call of the low-level clients: long enough for a slow machine, and once. */
export const ONCE = { retry: null, timeout: 25_000 } as const;

export interface OpenBench extends Bench {
  close(): Promise<void>;
}

export async function openBench(endpoint: string, project: string): Promise<OpenBench> {
  const sdks: PubSub[] = [];
  const listeners: Subscription[] = [];
  const closed = new AbortController();
  const until = createUntil(closed.signal);
  function sdk(): PubSub {
    const made = new PubSub({ apiEndpoint: endpoint, projectId: project, emulatorMode: true });
    sdks.push(made);
    return made;
  }
  const config = { ...(await sdk().getClientConfig()), universeDomain: "googleapis.com" };
  const publisher = new v1.PublisherClient(config);
  const subscriber = new v1.SubscriberClient(config);
  const name = (kind: string): string => `projects/${project}/${kind}/check-${randomUUID()}`;

  const stream = (first: object): Stream => openStream(subscriber, until, first);

  async function topic(): Promise<string> {
    const made = name("topics");
    await publisher.createTopic({ name: made }, ONCE);
    return made;
  }

  return {
    project,
    publisher,
    subscriber,
    sdk,
    name,
    topic,
    async queue(settings = {}) {
      const request = { topic: await topic(), ackDeadlineSeconds: 10, ...settings, name: name("subscriptions") };
      await subscriber.createSubscription(request, ONCE);
      return queueOf({ publisher, subscriber, stream }, request.topic, request.name);
    },
    listener(subscription, options) {
      const made = sdk().subscription(subscription, options);
      listeners.push(made);
      return made;
    },
    stream,
    until,
    async close() {
      closed.abort();
      await Promise.all(listeners.map((listener) => listener.close()));
      await Promise.all([publisher.close(), subscriber.close(), ...sdks.map((one) => one.close())]);
    },
  };
}

/** Shorthands for a subscription and its topic that are there already. */
export function queueOf(
  { publisher, subscriber, stream }: Pick<Bench, "publisher" | "subscriber" | "stream">,
  topic: string,
  subscription: string,
): Queue {
  async function publish(messages: readonly MessageSettings[]): Promise<readonly string[]> {
    const [{ messageIds }] = await publisher.publish({ topic, messages: [...messages] }, ONCE);
    return messageIds ?? [];
  }

  async function pull(maxMessages: number, returnImmediately: boolean): Promise<readonly Delivery[]> {
    const [{ receivedMessages }] = await subscriber.pull({ subscription, maxMessages, returnImmediately }, ONCE);
    return (receivedMessages ?? []).map(deliveryOf);
  }

  async function take(count: number): Promise<readonly Delivery[]> {
    const taken: Delivery[] = [];
    while (taken.length < count) taken.push(...(await pull(count - taken.length, false)));
    return taken;
  }

  return {
    topic,
    subscription,
    send: (...texts) => publish(texts.map((text) => ({ data: Buffer.from(text) }))),
    sendInOrder: (orderingKey, ...texts) => publish(texts.map((text) => ({ data: Buffer.from(text), orderingKey }))),
    look: (maxMessages = 100) => pull(maxMessages, true),
    take,
    async one() {
      const [delivery] = await take(1);
      assert.ok(delivery !== undefined);
      return delivery;
    },
    async ack(...ackIds) {
      await subscriber.acknowledge({ subscription, ackIds: [...ackIds] }, ONCE);
    },
    async modify(ackDeadlineSeconds, ...ackIds) {
      await subscriber.modifyAckDeadline({ subscription, ackIds: [...ackIds], ackDeadlineSeconds }, ONCE);
    },
    stream: (request = {}) => stream({ subscription, streamAckDeadlineSeconds: 10, ...request }),
  };
}
