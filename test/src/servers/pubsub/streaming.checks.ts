import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { ONCE } from "./bench.ts";
import type { CheckGroup } from "./check.ts";

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const SECOND = 1_000;
/** By how much clocks of two processes may disagree about a second, ms. */
const GRAIN_MS = 20;

export const streaming: CheckGroup = {
  subject: "streaming pull",
  checks: [
    {
      name: "proto StreamingPull: messages of before and after, acked beside it by id",
      async run({ queue }) {
        const { send, stream, ack, look } = await queue();
        await send("before");
        const open = stream();
        const [before] = await open.take(1);
        await send("after");
        const [, after] = await open.take(2);
        assert.deepEqual([before?.text, after?.text], ["before", "after"]);
        await ack(before?.ackId ?? "", after?.ackId ?? "");
        await open.cancel();
        assert.deepEqual(await look(), []);
      },
    },
    {
      name: "proto StreamingPullRequest: acks and extensions can be sent on it",
      async run({ queue }) {
        const { send, stream } = await queue({ ackDeadlineSeconds: 600 });
        await send("acked", "given back");
        const open = stream();
        const taken = await open.take(2);
        const idOf = (text: string) => taken.find((delivery) => delivery.text === text)?.ackId ?? "";
        open.write({
          ackIds: [idOf("acked")],
          modifyDeadlineAckIds: [idOf("given back")],
          modifyDeadlineSeconds: [0],
        });
        const [, , again] = await open.take(3);
        assert.equal(again?.text, "given back");
        open.write({ modifyDeadlineAckIds: [again?.ackId ?? ""], modifyDeadlineSeconds: [1] });
        assert.deepEqual(
          (await open.take(4)).slice(3).map(({ text }) => text),
          ["given back"],
        );
        await open.cancel();
      },
    },
    {
      name: "PS-03: its ack deadline of 10 to 600 s is what its messages are leased for, whatever the subscription says",
      async run({ queue }) {
        const { send, stream } = await queue({ ackDeadlineSeconds: 600 });
        for (const streamAckDeadlineSeconds of [0, 9, 601]) {
          assert.equal((await stream({ streamAckDeadlineSeconds }).ended()).code, INVALID_ARGUMENT);
        }
        const open = stream({ streamAckDeadlineSeconds: 10 });
        const startMs = performance.now();
        await send("a");
        await open.take(2);
        const passedMs = performance.now() - startMs;
        assert.ok(passedMs >= 10 * SECOND - GRAIN_MS, `${passedMs} ms`);
        await open.cancel();
      },
    },
    {
      name: "proto StreamingPullRequest: a later request can change the deadline of what comes after",
      async run({ queue }) {
        const { send, stream } = await queue({ ackDeadlineSeconds: 600 });
        const open = stream({ streamAckDeadlineSeconds: 600 });
        await send("a");
        const [first] = await open.take(1);
        const giveBack = { modifyDeadlineAckIds: [first?.ackId ?? ""], modifyDeadlineSeconds: [0] };
        open.write({ streamAckDeadlineSeconds: 10, ...giveBack });
        await open.take(3);
        await open.cancel();
      },
    },
    {
      name: "proto StreamingPullRequest: the first request names the subscription, and only the first",
      async run({ queue, stream: openStream }) {
        const nameless = openStream({ streamAckDeadlineSeconds: 10 });
        assert.equal((await nameless.ended()).code, INVALID_ARGUMENT);
        const { stream, subscription } = await queue();
        const open = stream();
        open.write({ subscription });
        assert.equal((await open.ended()).code, INVALID_ARGUMENT);
      },
    },
    {
      name: "proto StreamingPull: NOT_FOUND where there is no such subscription",
      async run({ stream, name }) {
        const open = stream({ subscription: name("subscriptions"), streamAckDeadlineSeconds: 10 });
        assert.equal((await open.ended()).code, NOT_FOUND);
      },
    },
    {
      name: "proto StreamingPull: a stream of a subscription that is deleted ends with NOT_FOUND",
      async run({ queue, subscriber }) {
        const { stream, subscription, send } = await queue();
        const open = stream();
        await send("a");
        await open.take(1);
        await subscriber.deleteSubscription({ subscription }, ONCE);
        assert.equal((await open.ended()).code, NOT_FOUND);
      },
    },
    {
      name: "proto SubscriptionProperties: answers with messages say whether the subscription is ordered and exactly-once",
      async run({ queue }) {
        for (const [enableExactlyOnceDelivery, enableMessageOrdering] of [
          [true, false],
          [false, true],
          [false, false],
        ] as const) {
          const { send, stream } = await queue({ enableExactlyOnceDelivery, enableMessageOrdering });
          const open = stream();
          await send("a");
          await open.take(1);
          const answer = open.answers.find(({ receivedMessages }) => receivedMessages?.length);
          assert.deepEqual(
            [
              answer?.subscriptionProperties?.exactlyOnceDeliveryEnabled ?? false,
              answer?.subscriptionProperties?.messageOrderingEnabled ?? false,
            ],
            [enableExactlyOnceDelivery, enableMessageOrdering],
          );
          await open.cancel();
        }
      },
    },
    {
      name: "proto SubscriptionProperties: the first answer comes at once, without messages",
      async run({ queue, until }) {
        const { stream } = await queue({ enableExactlyOnceDelivery: true });
        const open = stream();
        await until(() => open.answers.length > 0);
        assert.ok(open.answers[0]?.subscriptionProperties?.exactlyOnceDeliveryEnabled);
        assert.deepEqual(open.deliveries(), []);
        await open.cancel();
      },
    },
    {
      name: "PS-61: an empty request is answered when the client speaks protocol version 1, and only then",
      async run({ queue, subscriber, until }) {
        const { stream, subscription } = await queue();
        const [silent, speaking] = [stream(), stream({ protocolVersion: 1 })];
        await until(() => speaking.answers.length > 0);
        for (let pings = 1; pings <= 3; pings++) {
          const before = speaking.answers.length;
          silent.write({});
          speaking.write({});
          await until(() => speaking.answers.length > before);
        }
        await subscriber.getSubscription({ subscription }, ONCE);
        assert.ok(silent.answers.length <= 1);
        assert.deepEqual(speaking.deliveries(), []);
        await Promise.all([silent.cancel(), speaking.cancel()]);
      },
    },
    {
      name: "PS-27: a stream has no more messages out than max_outstanding_messages; each settled one makes room",
      async run({ queue }) {
        const { send, stream, ack, modify } = await queue({ ackDeadlineSeconds: 600 });
        await send("a", "b", "c", "d");
        const open = stream({ streamAckDeadlineSeconds: 600, maxOutstandingMessages: 2 });
        const [first, second] = await open.take(2);
        await sleep(0.5 * SECOND);
        assert.equal(open.deliveries().length, 2);
        await ack(first?.ackId ?? "");
        await open.take(3);
        await sleep(0.5 * SECOND);
        assert.equal(open.deliveries().length, 3);
        await modify(0, second?.ackId ?? "");
        await open.take(4);
        await sleep(0.5 * SECOND);
        assert.equal(open.deliveries().length, 4);
        await open.cancel();
      },
    },
    {
      name: "PS-27: a stream has no more bytes out than max_outstanding_bytes, and never none at all",
      async run({ queue }) {
        const { send, stream, ack } = await queue({ ackDeadlineSeconds: 600 });
        const large = "x".repeat(10_000);
        await send(large, large, large);
        const open = stream({ streamAckDeadlineSeconds: 600, maxOutstandingBytes: 5_000 });
        const [first] = await open.take(1);
        await sleep(0.5 * SECOND);
        assert.equal(open.deliveries().length, 1);
        await ack(first?.ackId ?? "");
        await open.take(2);
        await open.cancel();
      },
    },
    {
      name: "PS-27: flow control is per stream, and every message goes to one stream",
      async run({ queue }) {
        const { send, stream } = await queue({ ackDeadlineSeconds: 600 });
        const limits = { streamAckDeadlineSeconds: 600, maxOutstandingMessages: 1 };
        const streams = [stream(limits), stream(limits), stream(limits)];
        await send("a", "b", "c", "d");
        const firsts = await Promise.all(streams.map(async (open) => (await open.take(1))[0]?.text));
        assert.equal(new Set(firsts).size, 3);
        await Promise.all(streams.map((open) => open.cancel()));
      },
    },
    {
      name: "proto StreamingPull: a stream that goes away keeps its messages leased until they run out",
      async run({ queue }) {
        const { send, stream, look, modify, one } = await queue();
        await send("a");
        const open = stream({ streamAckDeadlineSeconds: 600 });
        const [held] = await open.take(1);
        await open.cancel();
        assert.deepEqual(await look(), []);
        await modify(1, held?.ackId ?? "");
        assert.equal((await one()).id, held?.id);
      },
    },
  ],
};
