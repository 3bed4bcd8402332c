/** What the tests of the Pub/Sub server share: a server on a clock that they move, and the vendor's generated clients. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { PubSub, type protos, v1 } from "@google-cloud/pubsub";
import { createHandClock, type HandClock } from "../hand-clock.ts";
import { type PubsubEmulator, type PubsubOptions, type SubscriptionSettings, startPubsub } from "../pubsub/start.ts";

export interface Fixture {
  readonly pubsub: PubsubEmulator;
  readonly clock: HandClock;
  readonly publisher: v1.PublisherClient;
  readonly subscriber: v1.SubscriberClient;
  /** A topic of its own with a subscription. */
  queue(settings?: Omit<SubscriptionSettings, "topic">): QueueFixture;
}

/** Shorthands for one subscription. */
export interface QueueFixture {
  readonly topic: string;
  readonly subscription: string;
  /** Answers the id. */
  send(text: string, orderingKey?: string): Promise<string>;
  /** Without waiting. */
  pull(maxMessages?: number): Promise<readonly Received[]>;
  texts(maxMessages?: number): Promise<readonly string[]>;
  /** Exactly one. */
  one(): Promise<Received>;
  ack(...messages: readonly Received[]): Promise<void>;
  modify(seconds: number, ...messages: readonly Received[]): Promise<void>;
}

export interface Received {
  readonly ackId: string;
  readonly text: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly attributes: Readonly<Record<string, string>>;
}

/** One stream of the generated client. */
export interface StreamFixture {
  /** Every answer so far. */
  readonly answers: readonly protos.google.pubsub.v1.IStreamingPullResponse[];
  texts(): readonly string[];
  write(request: object): void;
  cancel(): void;
  /** Resolves with the status that it ended with. */
  readonly ended: Promise<number>;
}

/** Of each call, once; a slow machine has time enough. */
export const ONCE = { retry: null, timeout: 60_000 } as const;

export async function openPubsub(test: TestContext, options: PubsubOptions = {}): Promise<Fixture> {
  const clock = createHandClock();
  const pubsub = await startPubsub({ clock, ...options });
  const sdk = new PubSub({ projectId: pubsub.projectId, apiEndpoint: pubsub.endpoint, emulatorMode: true });
  const config = (await sdk.getClientConfig()) as ConstructorParameters<typeof v1.PublisherClient>[0];
  const [publisher, subscriber] = [new v1.PublisherClient(config), new v1.SubscriberClient(config)];
  test.after(async () => {
    await Promise.all([publisher.close(), subscriber.close(), sdk.close()]);
    await pubsub.stop();
  });
  let queues = 0;
  return {
    pubsub,
    clock,
    publisher,
    subscriber,
    queue(settings = {}) {
      const topic = pubsub.createTopic(`topic-${++queues}`);
      const subscription = pubsub.createSubscription(`subscription-${queues}`, { topic, ...settings });
      return queueOf(publisher, subscriber, topic, subscription);
    },
  };
}

export function openStream(subscriber: v1.SubscriberClient, subscription: string): StreamFixture {
  const answers: protos.google.pubsub.v1.IStreamingPullResponse[] = [];
  const call = subscriber.streamingPull();
  call.on("data", (answer) => answers.push(answer));
  const ended = new Promise<number>((resolve) => {
    call.on("error", (error: { readonly code?: number }) => resolve(error.code ?? -1));
    call.on("end", () => resolve(0));
  });
  call.write({ subscription, streamAckDeadlineSeconds: 60, protocolVersion: "1" });
  return {
    answers,
    texts: () =>
      answers.flatMap(({ receivedMessages }) => (receivedMessages ?? []).map((each) => receivedOf(each).text)),
    write: (request) => void call.write(request),
    cancel: () => call.cancel(),
    ended,
  };
}

function queueOf(
  publisher: v1.PublisherClient,
  subscriber: v1.SubscriberClient,
  topic: string,
  subscription: string,
): QueueFixture {
  const pull = async (maxMessages = 10): Promise<readonly Received[]> => {
    const [answer] = await subscriber.pull({ subscription, maxMessages, returnImmediately: true }, ONCE);
    return (answer.receivedMessages ?? []).map(receivedOf);
  };
  const idsOf = (messages: readonly Received[]): string[] => messages.map(({ ackId }) => ackId);
  return {
    topic,
    subscription,
    async send(text, orderingKey = "") {
      const [answer] = await publisher.publish({ topic, messages: [{ data: Buffer.from(text), orderingKey }] }, ONCE);
      return answer.messageIds?.[0] as string;
    },
    pull,
    texts: async (maxMessages) => (await pull(maxMessages)).map(({ text }) => text),
    async one() {
      const messages = await pull();
      assert.equal(messages.length, 1);
      return messages[0] as Received;
    },
    async ack(...messages) {
      await subscriber.acknowledge({ subscription, ackIds: idsOf(messages) }, ONCE);
    },
    async modify(seconds, ...messages) {
      const request = { subscription, ackIds: idsOf(messages), ackDeadlineSeconds: seconds };
      await subscriber.modifyAckDeadline(request, ONCE);
    },
  };
}

function receivedOf({ ackId, message, deliveryAttempt }: protos.google.pubsub.v1.IReceivedMessage): Received {
  return {
    ackId: String(ackId),
    text: String(message?.data ?? ""),
    messageId: String(message?.messageId),
    attempt: deliveryAttempt ?? 0,
    attributes: (message?.attributes ?? {}) as Readonly<Record<string, string>>,
  };
}
