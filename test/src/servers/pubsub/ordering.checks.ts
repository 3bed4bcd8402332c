import assert from "node:assert/strict";
import type { CheckGroup } from "./check.ts";
import type { Delivery } from "./delivery.ts";

const settings = { enableMessageOrdering: true, ackDeadlineSeconds: 600 };

const textsOf = (deliveries: readonly Delivery[]): string => deliveries.map(({ text }) => text).join(" ");

export const ordering: CheckGroup = {
  subject: "ordering",
  checks: [
    {
      name: "PS-45: messages of a key arrive in the order of publishing",
      async run({ queue }) {
        const { sendInOrder, one, ack } = await queue(settings);
        await sendInOrder("key", "1", "2");
        await sendInOrder("key", "3");
        await sendInOrder("key", "4", "5");
        const taken: Delivery[] = [];
        for (let times = 0; times < 5; times++) {
          const delivery = await one();
          taken.push(delivery);
          await ack(delivery.ackId);
        }
        assert.equal(textsOf(taken), "1 2 3 4 5");
        assert.ok(taken.every(({ orderingKey }) => orderingKey === "key"));
      },
    },
    {
      name: "PS-45: one pull brings several of a key, in order",
      async run({ queue }) {
        const { sendInOrder, take } = await queue(settings);
        await sendInOrder("key", "1", "2", "3");
        assert.equal(textsOf(await take(3)), "1 2 3");
      },
    },
    {
      name: "PS-45: a message that is given back comes again, and the later ones of its key after it",
      async run({ queue }) {
        const { sendInOrder, take, modify, ack } = await queue(settings);
        await sendInOrder("key", "1", "2", "3", "4");
        const taken = await take(4);
        await ack(taken[0]?.ackId ?? "");
        await modify(0, taken[1]?.ackId ?? "");
        assert.equal(textsOf(await take(3)), "2 3 4");
      },
    },
    {
      name: "PS-45: messages that are given back together come again in order",
      async run({ queue }) {
        const { sendInOrder, take, modify } = await queue(settings);
        await sendInOrder("key", "1", "2", "3");
        const taken = await take(3);
        await modify(0, ...taken.map(({ ackId }) => ackId));
        assert.equal(textsOf(await take(3)), "1 2 3");
      },
    },
    {
      name: "PS-45: a lease that ran out has the same effect",
      async run({ queue }) {
        const { sendInOrder, take, modify } = await queue(settings);
        await sendInOrder("key", "1", "2", "3");
        const taken = await take(3);
        await modify(1, taken[0]?.ackId ?? "");
        assert.equal(textsOf(await take(3)), "1 2 3");
      },
    },
    {
      name: "PS-45: other keys, and messages without one, go on meanwhile",
      async run({ queue }) {
        const { sendInOrder, send, take, one } = await queue(settings);
        await sendInOrder("key", "1");
        await one();
        await sendInOrder("other", "a", "b");
        await send("none");
        const taken = await take(3);
        assert.equal(textsOf(taken.filter(({ orderingKey }) => orderingKey === "other")), "a b");
        assert.equal(textsOf(taken.filter(({ orderingKey }) => orderingKey === "")), "none");
      },
    },
    {
      name: "PS-45: a subscription that keeps no order delivers the key all the same",
      async run({ queue }) {
        const { sendInOrder, take, modify, look } = await queue({ ackDeadlineSeconds: 600 });
        await sendInOrder("key", "1", "2");
        const taken = await take(2);
        assert.deepEqual(
          taken.map(({ orderingKey }) => orderingKey),
          ["key", "key"],
        );
        const first = taken.find(({ text }) => text === "1");
        await modify(0, first?.ackId ?? "");
        assert.equal(textsOf(await take(1)), "1");
        assert.deepEqual(await look(), []);
      },
    },
    {
      name: "PS-45: a stream brings the messages of a key in order, and again in order after they were given back",
      async run({ queue }) {
        const { sendInOrder, stream, modify } = await queue(settings);
        await sendInOrder("key", "1", "2", "3");
        const open = stream({ streamAckDeadlineSeconds: 600 });
        const taken = await open.take(3);
        assert.equal(textsOf(taken), "1 2 3");
        await modify(0, ...taken.map(({ ackId }) => ackId));
        assert.equal(textsOf((await open.take(6)).slice(3)), "1 2 3");
        await open.cancel();
      },
    },
  ],
};
