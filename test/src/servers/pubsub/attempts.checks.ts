import assert from "node:assert/strict";
import { type Bench, ONCE, type Queue, queueOf } from "./bench.ts";
import type { CheckGroup } from "./check.ts";
import type { Delivery } from "./delivery.ts";

const SECOND = 1_000;
/** By how much clocks of two processes may disagree about a second, ms. */
const GRAIN_MS = 20;

/** A queue whose messages go to the dead letters after five deliveries. */
async function withDeadLetters(bench: Bench, more: object = {}): Promise<Queue & { readonly dead: Queue }> {
  const dead = await bench.queue();
  const deadLetterPolicy = { deadLetterTopic: dead.topic, maxDeliveryAttempts: 5 };
  return { ...(await bench.queue({ deadLetterPolicy, ...more })), dead };
}

export const attempts: CheckGroup = {
  subject: "attempts",
  checks: [
    {
      name: "PS-40: without a dead-letter policy the attempt is always 0",
      async run({ queue }) {
        const { send, one, modify } = await queue();
        await send("a");
        const first = await one();
        await modify(0, first.ackId);
        assert.deepEqual([first.attempt, (await one()).attempt], [0, 0]);
      },
    },
    {
      name: "PS-40: with one it is 1, and counts each giving back and each lease that ran out",
      async run(bench) {
        const { send, one, modify } = await withDeadLetters(bench);
        await send("a");
        const first = await one();
        await modify(0, first.ackId);
        const second = await one();
        await modify(1, second.ackId);
        const third = await one();
        await modify(600, third.ackId);
        await modify(0, third.ackId);
        const fourth = await one();
        assert.deepEqual([first.attempt, second.attempt, third.attempt, fourth.attempt], [1, 2, 3, 4]);
      },
    },
    {
      name: "PS-42: after the last attempt the message goes to the dead-letter topic, with what it was and where it is from",
      async run(bench) {
        const { topic, subscription, sendInOrder, one, modify, look, dead } = await withDeadLetters(bench);
        const startMs = Date.now();
        const attributes = { own: "attribute" };
        const message = { data: Buffer.from("a"), attributes, orderingKey: "key" };
        await bench.publisher.publish({ topic, messages: [message] }, ONCE);
        for (let attempt = 1; attempt <= 5; attempt++) {
          const delivery = await one();
          assert.equal(delivery.attempt, attempt);
          await modify(0, delivery.ackId);
        }
        const [letter] = await Promise.all([dead.one(), look()]);
        assert.equal(letter.text, "a");
        assert.equal(letter.orderingKey, "key");
        const { CloudPubSubDeadLetterSourceTopicPublishTime: published = "", ...others } = letter.attributes;
        assert.deepEqual(others, {
          ...attributes,
          CloudPubSubDeadLetterSourceDeliveryCount: "5",
          CloudPubSubDeadLetterSourceSubscription: subscription.split("/").at(-1),
          CloudPubSubDeadLetterSourceSubscriptionProject: bench.project,
        });
        const publishedMs = Date.parse(published);
        assert.ok(publishedMs >= startMs - SECOND && publishedMs <= Date.now() + SECOND, published);
        await sendInOrder("key", "marker");
        assert.equal((await one()).text, "marker");
      },
    },
    {
      name: "PS-41: leases that ran out lead to the dead letters as well",
      async run(bench) {
        const { send, one, modify, look, dead } = await withDeadLetters(bench);
        const [id] = await send("a");
        for (let attempt = 1; attempt <= 5; attempt++) {
          const delivery = await one();
          assert.deepEqual([delivery.id, delivery.attempt], [id, attempt]);
          await modify(1, delivery.ackId);
        }
        // The service forwards when it would deliver for the sixth time.
        const letters: Delivery[] = [];
        while (letters.length === 0) {
          assert.deepEqual(await look(), []);
          letters.push(...(await dead.look()));
        }
        assert.equal(letters[0]?.text, "a");
      },
    },
    {
      name: "PS-41: the last attempt can still be acked",
      async run(bench) {
        const { send, one, modify, ack, look, dead } = await withDeadLetters(bench);
        await send("a");
        for (let attempt = 1; attempt < 5; attempt++) await modify(0, (await one()).ackId);
        const last = await one();
        assert.equal(last.attempt, 5);
        await ack(last.ackId);
        assert.deepEqual([await look(), await dead.look()], [[], []]);
      },
    },
    {
      name: "PS-42: a dead-letter topic without a subscription loses messages",
      async run(bench) {
        const deadLetterTopic = await bench.topic();
        const { send, one, modify } = await bench.queue({
          deadLetterPolicy: { deadLetterTopic, maxDeliveryAttempts: 5 },
        });
        await send("a");
        for (let attempt = 1; attempt <= 5; attempt++) await modify(0, (await one()).ackId);
        await send("marker");
        assert.equal((await one()).text, "marker");
        const late = queueOf(bench, deadLetterTopic, bench.name("subscriptions"));
        await bench.subscriber.createSubscription({ name: late.subscription, topic: deadLetterTopic }, ONCE);
        await late.send("marker");
        assert.equal((await late.one()).text, "marker");
      },
    },
    {
      name: "PS-44: without a retry policy what is given back is delivered at once",
      async run({ queue }) {
        const { send, one, modify } = await queue({ ackDeadlineSeconds: 600 });
        await send("a");
        for (let times = 0; times < 5; times++) await modify(0, (await one()).ackId);
        assert.equal((await one()).text, "a");
      },
    },
    {
      name: "PS-44: with one it waits for the least back-off, however it came back",
      async run({ queue }) {
        const retryPolicy = { minimumBackoff: { seconds: 2 }, maximumBackoff: { seconds: 4 } };
        const { send, one, modify } = await queue({ retryPolicy });
        await send("a");
        const first = await one();
        const nackedMs = performance.now();
        await modify(0, first.ackId);
        const second = await one();
        const afterNackMs = performance.now() - nackedMs;
        assert.ok(afterNackMs >= 2 * SECOND - GRAIN_MS, `${afterNackMs} ms`);
        const leasedMs = performance.now();
        await modify(1, second.ackId);
        await one();
        const afterLeaseMs = performance.now() - leasedMs;
        assert.ok(afterLeaseMs >= 3 * SECOND - GRAIN_MS, `${afterLeaseMs} ms`);
      },
    },
    {
      name: "PS-44: the back-off grows from time to time",
      async run({ queue }) {
        const retryPolicy = { minimumBackoff: { nanos: 400_000_000 }, maximumBackoff: { seconds: 600 } };
        const { send, one, modify } = await queue({ retryPolicy });
        await send("a");
        let { ackId } = await one();
        let lastMs = 0;
        for (let times = 0; times < 4; times++) {
          const startMs = performance.now();
          await modify(0, ackId);
          ({ ackId } = await one());
          lastMs = performance.now() - startMs;
          assert.ok(lastMs >= 400 - GRAIN_MS, `${lastMs} ms`);
        }
        assert.ok(lastMs >= 2 * 400, `${lastMs} ms`);
      },
    },
    {
      name: "PS-44: other messages do not wait for one that is held back",
      async run({ queue }) {
        const retryPolicy = { minimumBackoff: { seconds: 600 }, maximumBackoff: { seconds: 600 } };
        const { send, one, modify } = await queue({ retryPolicy });
        await send("a");
        await modify(0, (await one()).ackId);
        await send("other");
        assert.equal((await one()).text, "other");
      },
    },
  ],
};
