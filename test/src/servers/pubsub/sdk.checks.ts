import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import {
  AckError,
  AckResponses,
  Duration,
  type Message,
  type Subscription,
  SubscriptionCloseBehaviors,
  type SubscriptionOptions,
} from "@google-cloud/pubsub";
import type { Bench, Queue } from "./bench.ts";
import type { CheckGroup } from "./check.ts";

const NOT_FOUND = 5;
const SECOND = 1_000;

interface Listening {
  readonly subscription: Subscription;
  /** Every delivery so far. */
  readonly messages: readonly Message[];
  readonly errors: readonly (Error & { readonly code?: number })[];
}

/** Listens as its users do, with a handler that does nothing but keep what came, or this one. */
function listen(
  bench: Bench,
  queue: Pick<Queue, "subscription">,
  options: SubscriptionOptions = {},
  handle: (message: Message) => void = () => undefined,
): Listening {
  const subscription = bench.listener(queue.subscription, options);
  const messages: Message[] = [];
  const errors: Error[] = [];
  subscription.on("error", (error) => errors.push(error));
  subscription.on("message", (message: Message) => {
    messages.push(message);
    handle(message);
  });
  return { subscription, messages, errors };
}

const textsOf = (messages: readonly Message[]): string => messages.map(({ data }) => String(data)).join(" ");

export const sdk: CheckGroup = {
  subject: "high-level client",
  checks: [
    {
      name: "PS-20: publishMessage, on('message'), ack",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue();
        const { messages, subscription, errors } = listen(bench, queue, {}, (message) => message.ack());
        const topic = bench.sdk().topic(queue.topic);
        const ids = await Promise.all(
          ["a", "b", "c"].map((text) => topic.publishMessage({ data: Buffer.from(text), attributes: { text } })),
        );
        await until(() => messages.length === 3);
        await subscription.close();
        assert.deepEqual(messages.map(({ id }) => id).sort(), [...ids].sort());
        assert.ok(messages.every(({ data, attributes }) => attributes["text"] === String(data)));
        assert.deepEqual([await queue.look(), errors], [[], []]);
      },
    },
    {
      name: "PS-22: nack, and the message comes again",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue();
        const { messages, subscription } = listen(bench, queue, {}, (message) =>
          messages.length === 1 ? message.nack() : message.ack(),
        );
        await queue.send("a");
        await until(() => messages.length === 2);
        await subscription.close();
        assert.equal(messages[0]?.id, messages[1]?.id);
        assert.notEqual(messages[0]?.ackId, messages[1]?.ackId);
        assert.deepEqual(await queue.look(), []);
      },
    },
    {
      name: "PS-20: without exactly-once ackWithResponse is SUCCESS, also for an earlier delivery",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue();
        const { messages, subscription } = listen(bench, queue);
        await queue.send("a");
        await until(() => messages.length === 1);
        await queue.modify(0, messages[0]?.ackId ?? "");
        await until(() => messages.length === 2);
        assert.equal(await messages[0]?.ackWithResponse(), AckResponses.Success);
        assert.equal(await messages[1]?.ackWithResponse(), AckResponses.Success);
        await subscription.close();
        assert.deepEqual(await queue.look(), []);
      },
    },
    {
      name: "PS-21: with exactly-once ackWithResponse is SUCCESS, and the message never comes again",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ enableExactlyOnceDelivery: true });
        const { messages, subscription } = listen(bench, queue);
        await queue.send("a");
        await until(() => messages.length === 1);
        assert.equal(await messages[0]?.ackWithResponse(), AckResponses.Success);
        await subscription.close();
        assert.deepEqual(await queue.look(), []);
      },
    },
    {
      name: "PS-21: with exactly-once ackWithResponse of an earlier delivery is INVALID",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ enableExactlyOnceDelivery: true });
        const { messages, subscription } = listen(bench, queue);
        await queue.send("a");
        await until(() => messages.length === 1);
        const [first] = messages;
        assert.ok(first !== undefined);
        await queue.modify(0, first.ackId);
        await until(() => messages.length === 2);
        await assert.rejects(first.ackWithResponse(), (error) => {
          assert.ok(error instanceof AckError);
          assert.equal(error.errorCode, AckResponses.Invalid);
          return true;
        });
        assert.equal(await messages[1]?.ackWithResponse(), AckResponses.Success);
        await subscription.close();
      },
    },
    {
      name: "PS-21: with exactly-once nackWithResponse is SUCCESS, and the message comes again",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ enableExactlyOnceDelivery: true });
        const { messages, subscription } = listen(bench, queue);
        await queue.send("a");
        await until(() => messages.length === 1);
        assert.equal(await messages[0]?.nackWithResponse(), AckResponses.Success);
        await until(() => messages.length === 2);
        assert.equal(await messages[1]?.ackWithResponse(), AckResponses.Success);
        await subscription.close();
      },
    },
    {
      name: "PS-06: a handler that takes longer than the ack deadline keeps its message: the client extends the lease",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 10 });
        const options = {
          minAckDeadline: Duration.from({ seconds: 10 }),
          maxAckDeadline: Duration.from({ seconds: 10 }),
        };
        const { messages, subscription } = listen(bench, queue, options);
        await queue.send("a");
        await until(() => messages.length === 1);
        await sleep(13 * SECOND);
        assert.equal(messages.length, 1);
        messages[0]?.ack();
        await subscription.close();
        assert.deepEqual(await queue.look(), []);
      },
    },
    {
      name: "PS-05: after maxExtensionTime the client lets go of a message without a word, and it comes again",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 10 });
        const options = {
          minAckDeadline: Duration.from({ seconds: 10 }),
          maxAckDeadline: Duration.from({ seconds: 10 }),
          maxExtensionTime: Duration.from({ seconds: 1 }),
        };
        const { messages, subscription, errors } = listen(bench, queue, options);
        await queue.send("a");
        await until(() => messages.length === 2);
        assert.equal(messages[0]?.id, messages[1]?.id);
        assert.deepEqual(errors, []);
        await subscription.close();
      },
    },
    {
      name: "PS-27: no more messages in handlers than flow control allows",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue();
        const flowControl = { maxMessages: 2, allowExcessMessages: false };
        const { messages, subscription } = listen(bench, queue, { flowControl, streamingOptions: { maxStreams: 1 } });
        await queue.send("a", "b", "c", "d", "e");
        for (let settled = 0; settled < 5; settled++) {
          await until(() => messages.length >= Math.min(settled + 2, 5));
          await sleep(0.2 * SECOND);
          assert.equal(messages.length, Math.min(settled + 2, 5));
          messages[settled]?.ack();
        }
        await subscription.close();
        assert.equal(textsOf(messages).split(" ").sort().join(), "a,b,c,d,e");
      },
    },
    {
      name: "PS-24: close() as it is by default nacks what is in handlers",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 600 });
        const { messages, subscription } = listen(bench, queue);
        await queue.send("a");
        await until(() => messages.length === 1);
        await subscription.close();
        const again = await queue.one();
        assert.equal(again.id, messages[0]?.id);
      },
    },
    {
      name: "PS-24: close() that waits for processing lets handlers end, and their acks count",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ ackDeadlineSeconds: 600 });
        const closeOptions = {
          behavior: SubscriptionCloseBehaviors.WaitForProcessing,
          timeout: Duration.from({ seconds: 20 }),
        };
        const { messages, subscription } = listen(bench, queue, { closeOptions });
        await queue.send("a");
        await until(() => messages.length === 1);
        const closed = subscription.close();
        await sleep(0.2 * SECOND);
        messages[0]?.ack();
        await closed;
        await queue.send("marker");
        const next = await queue.one();
        assert.equal(next.text, "marker");
        assert.deepEqual(await queue.look(), []);
      },
    },
    {
      name: "PS-23: after close() an ack has no effect, and with exactly-once it is INVALID",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ enableExactlyOnceDelivery: true, ackDeadlineSeconds: 600 });
        const { messages, subscription } = listen(bench, queue);
        await queue.send("a");
        await until(() => messages.length === 1);
        await subscription.close();
        assert.equal(await messages[0]?.ackWithResponse(), AckResponses.Invalid);
        assert.equal((await queue.one()).id, messages[0]?.id);
      },
    },
    {
      name: "PS-45: handlers of one key are called in the order of publishing",
      async run(bench) {
        const { until } = bench;
        const queue = await bench.queue({ enableMessageOrdering: true });
        const { messages, subscription } = listen(bench, queue, {}, (message) => message.ack());
        const topic = bench.sdk().topic(queue.topic, { messageOrdering: true });
        const texts = Array.from({ length: 20 }, (_, index) => String(index));
        await Promise.all(texts.map((text) => topic.publishMessage({ data: Buffer.from(text), orderingKey: "key" })));
        await until(() => messages.length >= texts.length);
        await subscription.close();
        assert.equal(textsOf(messages), texts.join(" "));
      },
    },
    {
      name: "PS-40: deliveryAttempt is 0 without a dead-letter policy, and counts with one",
      async run(bench) {
        const { until } = bench;
        const dead = await bench.queue();
        const deadLetterPolicy = { deadLetterTopic: dead.topic, maxDeliveryAttempts: 5 };
        const [plain, counted] = [await bench.queue(), await bench.queue({ deadLetterPolicy })];
        const first = listen(bench, plain, {}, (message) => message.ack());
        const second = listen(bench, counted, {}, (message) => message.nack());
        const letters = listen(bench, dead, {}, (message) => message.ack());
        await Promise.all([plain.send("a"), counted.send("b")]);
        await until(() => first.messages.length === 1 && letters.messages.length === 1);
        assert.equal(first.messages[0]?.deliveryAttempt, 0);
        assert.deepEqual(
          second.messages.map(({ deliveryAttempt }) => deliveryAttempt),
          [1, 2, 3, 4, 5],
        );
        assert.equal(textsOf(letters.messages), "b");
        assert.equal(letters.messages[0]?.attributes["CloudPubSubDeadLetterSourceDeliveryCount"], "5");
        await Promise.all([first, second, letters].map(({ subscription }) => subscription.close()));
      },
    },
    {
      name: "proto StreamingPull: an error event where there is no such subscription, or it is deleted",
      async run(bench) {
        const { until } = bench;
        const missing = listen(bench, { subscription: bench.name("subscriptions") });
        await until(() => missing.errors.length > 0);
        assert.equal(missing.errors[0]?.code, NOT_FOUND);
        const queue = await bench.queue();
        const deleted = listen(bench, queue, {}, (message) => message.ack());
        await queue.send("a");
        await until(() => deleted.messages.length === 1);
        await bench.sdk().subscription(queue.subscription).delete();
        await until(() => deleted.errors.length > 0);
        assert.equal(deleted.errors[0]?.code, NOT_FOUND);
        await Promise.all([missing.subscription.close(), deleted.subscription.close()]);
      },
    },
  ],
};
