import assert from "node:assert/strict";
import { type Bench, type MessageSettings, ONCE } from "./bench.ts";
import type { CheckGroup } from "./check.ts";

const INVALID_ARGUMENT = 3;
const MEBIBYTE = 1_024 * 1_024;

const publish = async ({ publisher }: Bench, topic: string, ...messages: MessageSettings[]) => {
  const [{ messageIds }] = await publisher.publish({ topic, messages }, ONCE);
  return messageIds ?? [];
};

const manyAttributes = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, "value"]));

async function refuses(bench: Bench, message: MessageSettings): Promise<void> {
  const topic = await bench.topic();
  await assert.rejects(publish(bench, topic, message), { code: INVALID_ARGUMENT });
}

export const publishing: CheckGroup = {
  subject: "publish",
  checks: [
    {
      name: "proto PublishResponse: an id for each message, in their order",
      async run({ queue }) {
        const { send, take } = await queue();
        const ids = await send("a", "b", "c");
        assert.equal(new Set(ids).size, 3);
        const taken = await take(3);
        const texts = new Map(taken.map(({ id, text }) => [id, text]));
        assert.deepEqual(
          ids.map((id) => texts.get(id)),
          ["a", "b", "c"],
        );
      },
    },
    {
      name: "proto PubsubMessage: bytes, attributes and ordering key arrive as they were sent, with the time of publishing",
      async run(bench) {
        const { subscriber, queue } = bench;
        const { topic, subscription } = await queue();
        const data = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
        const attributes = { empty: "", ключ: "значение" };
        const startMs = Date.now();
        const [id] = await publish(bench, topic, { data, attributes, orderingKey: "key" });
        const [{ receivedMessages }] = await subscriber.pull({ subscription, maxMessages: 1 }, ONCE);
        const message = receivedMessages?.[0]?.message;
        assert.deepEqual(Buffer.from(message?.data ?? ""), data);
        assert.deepEqual(message?.attributes, attributes);
        assert.deepEqual([message?.messageId, message?.orderingKey], [id, "key"]);
        const publishedMs = Number(message?.publishTime?.seconds) * 1_000 + (message?.publishTime?.nanos ?? 0) / 1e6;
        assert.ok(publishedMs >= startMs - 1 && publishedMs <= Date.now() + 1, `${publishedMs}`);
      },
    },
    {
      name: "proto Publish: every subscription gets its own copy of what is published after it was made",
      async run(bench) {
        const { publisher, subscriber, topic, name } = bench;
        const shared = await topic();
        await publisher.publish({ topic: shared, messages: [{ data: Buffer.from("before") }] }, ONCE);
        const subscriptions = [name("subscriptions"), name("subscriptions")];
        for (const subscription of subscriptions) {
          await subscriber.createSubscription({ name: subscription, topic: shared }, ONCE);
        }
        await publisher.publish({ topic: shared, messages: [{ data: Buffer.from("after") }] }, ONCE);
        for (const subscription of subscriptions) {
          const [{ receivedMessages }] = await subscriber.pull({ subscription, maxMessages: 10 }, ONCE);
          assert.deepEqual(
            receivedMessages?.map(({ message }) => String(message?.data)),
            ["after"],
          );
        }
      },
    },
    {
      name: "PS-50: a request without messages is refused",
      async run(bench) {
        const topic = await bench.topic();
        await assert.rejects(publish(bench, topic), { code: INVALID_ARGUMENT });
      },
    },
    {
      name: "PS-50: a message needs data or an attribute",
      async run(bench) {
        await refuses(bench, {});
        await refuses(bench, { orderingKey: "key" });
        await publish(bench, await bench.topic(), { attributes: { a: "" } });
      },
    },
    {
      name: "PS-50: nothing of a request with one bad message is published",
      async run(bench) {
        const { queue } = bench;
        const { topic, send, one } = await queue();
        await assert.rejects(publish(bench, topic, { data: Buffer.from("good") }, {}), { code: INVALID_ARGUMENT });
        await send("marker");
        assert.equal((await one()).text, "marker");
      },
    },
    {
      name: "PS-50: up to 100 attributes, names of 256 bytes, values and ordering keys of 1,024 bytes",
      async run(bench) {
        const { queue } = bench;
        const { topic, one } = await queue();
        const attributes = { ...manyAttributes(99), ["k".repeat(256)]: "v".repeat(1_024) };
        const orderingKey = "o".repeat(1_024);
        await publish(bench, topic, { attributes, orderingKey });
        const delivery = await one();
        assert.deepEqual([delivery.attributes, delivery.orderingKey], [attributes, orderingKey]);
      },
    },
    {
      name: "PS-50: more than 100 attributes are refused",
      run: (bench) => refuses(bench, { attributes: manyAttributes(101) }),
    },
    {
      name: "PS-50: an attribute's name over 256 bytes is refused, and one of none",
      async run(bench) {
        await refuses(bench, { attributes: { ["k".repeat(257)]: "v" } });
        await refuses(bench, { attributes: { ["é".repeat(129)]: "v" } });
        await refuses(bench, { attributes: { "": "v" } });
      },
    },
    {
      name: "PS-50: an attribute's value over 1,024 bytes is refused",
      async run(bench) {
        await refuses(bench, { attributes: { k: "v".repeat(1_025) } });
        await refuses(bench, { attributes: { k: "é".repeat(513) } });
      },
    },
    {
      name: "PS-50: attributes that begin with goog are refused",
      run: (bench) => refuses(bench, { attributes: { "google-own": "v" } }),
    },
    {
      name: "PS-50: an ordering key over 1,024 bytes is refused",
      run: (bench) => refuses(bench, { data: "YQ==", orderingKey: "k".repeat(1_025) }),
    },
    {
      name: "PS-50: a message of nearly 10 MB arrives",
      async run(bench) {
        const { queue, subscriber } = bench;
        const { topic, subscription } = await queue();
        const data = Buffer.alloc(10_000_000 - 1_000, 7);
        await publish(bench, topic, { data });
        const [{ receivedMessages }] = await subscriber.pull({ subscription, maxMessages: 1 }, ONCE);
        assert.ok(data.equals(Buffer.from(receivedMessages?.[0]?.message?.data ?? "")));
      },
    },
    {
      name: "PS-50: a message over 10 MB is refused",
      run: (bench) => refuses(bench, { data: Buffer.alloc(10 * MEBIBYTE + 1) }),
    },
    {
      name: "PS-50: 1,000 messages in one request, and no more",
      async run(bench) {
        const topic = await bench.topic();
        const messages = Array.from({ length: 1_000 }, () => ({ data: Buffer.from("a") }));
        assert.equal((await publish(bench, topic, ...messages)).length, 1_000);
        const tooMany = publish(bench, topic, ...messages, { data: Buffer.from("a") });
        await assert.rejects(tooMany, { code: INVALID_ARGUMENT });
      },
    },
  ],
};
