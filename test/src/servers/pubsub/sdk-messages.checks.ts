import assert from "node:assert/strict";
import { AckError, AckResponses } from "@google-cloud/pubsub";
import type { CheckGroup } from "./check.ts";
import { listen, textsOf } from "./listen.ts";

export const sdkMessages: CheckGroup = {
  subject: "high-level client, messages",
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
  ],
};
