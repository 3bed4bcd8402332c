import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { ONCE } from "./bench.ts";
import type { CheckGroup } from "./check.ts";

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const SECOND = 1_000;
/** By how much clocks of two processes may disagree about a second, ms. */
const GRAIN_MS = 20;

export const leases: CheckGroup = {
  subject: "leases",
  checks: [
    {
      name: "PS-01: each delivery has an ack id of its own, and extending does not change it",
      async run({ queue }) {
        const { send, one, modify, ack, look } = await queue();
        const [id] = await send("a");
        const first = await one();
        await modify(600, first.ackId);
        await modify(0, first.ackId);
        const second = await one();
        assert.deepEqual([first.id, second.id], [id, id]);
        assert.notEqual(first.ackId, second.ackId);
        await ack(second.ackId);
        assert.deepEqual(await look(), []);
      },
    },
    {
      name: "PS-03: the lease is over when its seconds are, counted from the request, and not sooner",
      async run({ queue }) {
        const { send, one, modify } = await queue();
        await send("a");
        const { ackId } = await one();
        const startMs = performance.now();
        await modify(2, ackId);
        assert.equal((await one()).text, "a");
        const passedMs = performance.now() - startMs;
        assert.ok(passedMs >= 2 * SECOND - GRAIN_MS, `${passedMs} ms`);
      },
    },
    {
      name: "PS-03: without a word a message comes again after the subscription's ack deadline",
      async run({ queue }) {
        const { send, one } = await queue({ ackDeadlineSeconds: 10 });
        await send("a");
        const startMs = performance.now();
        const first = await one();
        const second = await one();
        assert.equal(first.id, second.id);
        const passedMs = performance.now() - startMs;
        assert.ok(passedMs >= 10 * SECOND - GRAIN_MS, `${passedMs} ms`);
      },
    },
    {
      name: "PS-03: what is asked for counts from its own request, whatever was left",
      async run({ queue }) {
        const { send, one, modify } = await queue();
        await send("a");
        const { ackId } = await one();
        await modify(600, ackId);
        const startMs = performance.now();
        await modify(1, ackId);
        await one();
        const passedMs = performance.now() - startMs;
        assert.ok(passedMs >= SECOND - GRAIN_MS, `${passedMs} ms`);
      },
    },
    {
      name: "PS-03: an extended lease holds beyond the ack deadline of the subscription",
      async run({ queue }) {
        const { send, one, modify, look } = await queue({ ackDeadlineSeconds: 10 });
        await send("a");
        const { ackId } = await one();
        await modify(600, ackId);
        await sleep(10.5 * SECOND);
        assert.deepEqual(await look(), []);
        await modify(0, ackId);
        assert.equal((await one()).text, "a");
      },
    },
    {
      name: "PS-03: 600 s can be asked for, and less than nothing not",
      async run({ queue }) {
        const { send, one, modify, look } = await queue();
        await send("a");
        const { ackId } = await one();
        await assert.rejects(modify(-1, ackId), { code: INVALID_ARGUMENT });
        await modify(600, ackId);
        assert.deepEqual(await look(), []);
      },
    },
    {
      name: "PS-03: more than 600 s cannot be asked for",
      async run({ queue }) {
        const { send, one, modify } = await queue();
        await send("a");
        const { ackId } = await one();
        await assert.rejects(modify(601, ackId), { code: INVALID_ARGUMENT });
      },
    },
    {
      name: "PS-03: a message that is given back is there at once, first come first served",
      async run({ queue }) {
        const { send, take, one, modify } = await queue({ ackDeadlineSeconds: 600 });
        await send("a", "b", "c");
        const taken = await take(3);
        await modify(0, ...taken.map(({ ackId }) => ackId));
        const again = await take(3);
        assert.deepEqual(again.map(({ id }) => id).sort(), taken.map(({ id }) => id).sort());
        await modify(0, again[0]?.ackId ?? "");
        assert.equal((await one()).id, again[0]?.id);
      },
    },
    {
      name: "PS-02: an acked message never comes again",
      async run({ queue }) {
        const { send, one, ack, look } = await queue({ ackDeadlineSeconds: 10 });
        await send("a");
        const { ackId } = await one();
        await ack(ackId);
        await sleep(10.5 * SECOND);
        assert.deepEqual(await look(), []);
        await send("marker");
        assert.equal((await one()).text, "marker");
      },
    },
    {
      name: "PS-02: to ack twice, to extend or to give back what is acked, is no error, and has no effect",
      async run({ queue }) {
        const { send, one, ack, modify, look } = await queue();
        await send("a");
        const { ackId } = await one();
        await ack(ackId);
        await ack(ackId);
        await modify(30, ackId);
        await modify(0, ackId);
        assert.deepEqual(await look(), []);
        await send("marker");
        assert.equal((await one()).text, "marker");
      },
    },
    {
      name: "PS-02: an ack of an earlier delivery answers OK",
      async run({ queue }) {
        const { send, one, modify, ack } = await queue();
        await send("a");
        const first = await one();
        await modify(0, first.ackId);
        await one();
        await ack(first.ackId);
      },
    },
    {
      name: "PS-02: an ack of an earlier delivery has no effect on the later one",
      async run({ queue }) {
        const { send, one, modify, ack } = await queue();
        await send("a");
        const first = await one();
        await modify(1, first.ackId);
        const second = await one();
        await ack(first.ackId);
        await modify(0, second.ackId);
        assert.equal((await one()).id, first.id);
      },
    },
    {
      name: "PS-02: an ack after a message was given back has no effect",
      async run({ queue }) {
        const { send, one, modify, ack } = await queue();
        await send("a");
        const first = await one();
        await modify(0, first.ackId);
        await ack(first.ackId);
        assert.equal((await one()).id, first.id);
      },
    },
    {
      name: "PS-02: extending, or giving back, an earlier delivery is no error, and does nothing to the later one",
      async run({ queue }) {
        const { send, one, modify, look } = await queue({ ackDeadlineSeconds: 600 });
        await send("a");
        const first = await one();
        await modify(0, first.ackId);
        const second = await one();
        await modify(0, first.ackId);
        assert.deepEqual(await look(), []);
        await modify(1, first.ackId);
        await sleep(1.5 * SECOND);
        assert.deepEqual(await look(), []);
        await modify(0, second.ackId);
        assert.equal((await one()).id, first.id);
      },
    },
    {
      name: "PS-02: an ack after the deadline and before the next delivery answers OK",
      async run({ queue }) {
        const { send, one, modify, ack } = await queue();
        await send("a");
        const { ackId } = await one();
        await modify(1, ackId);
        await sleep(1.5 * SECOND);
        await ack(ackId);
      },
    },
    {
      name: "PS-02: an ack id that is none is refused",
      async run({ queue }) {
        const { ack, modify } = await queue();
        await assert.rejects(ack("no-ack-id"), { code: INVALID_ARGUMENT });
        await assert.rejects(modify(10, "no-ack-id"), { code: INVALID_ARGUMENT });
      },
    },
    {
      name: "proto AcknowledgeRequest, ModifyAckDeadlineRequest: at least one ack id",
      async run({ queue }) {
        const { ack, modify } = await queue();
        await assert.rejects(ack(), { code: INVALID_ARGUMENT });
        await assert.rejects(modify(10), { code: INVALID_ARGUMENT });
      },
    },
    {
      name: "PS-26: many ack ids in one request",
      async run({ queue, subscriber }) {
        const { send, take, ack, modify, subscription, look } = await queue({ ackDeadlineSeconds: 600 });
        await send(...Array.from({ length: 1_000 }, (_, index) => String(index)));
        const ackIds = (await take(1_000)).map(({ ackId }) => ackId);
        await modify(600, ...ackIds);
        await ack(...ackIds);
        assert.deepEqual(await look(), []);
        const tooLarge = { subscription, ackIds: Array.from({ length: 6_000 }, () => "x".repeat(100)) };
        await assert.rejects(subscriber.acknowledge(tooLarge, ONCE), { code: INVALID_ARGUMENT });
      },
    },
    {
      name: "proto Acknowledge: leases of one subscription are none of another's",
      async run({ queue, subscriber, name }) {
        const { topic, send, one, look } = await queue({ ackDeadlineSeconds: 600 });
        const other = name("subscriptions");
        await subscriber.createSubscription({ name: other, topic, ackDeadlineSeconds: 600 }, ONCE);
        await send("a");
        await one();
        const [{ receivedMessages }] = await subscriber.pull({ subscription: other, maxMessages: 1 }, ONCE);
        await subscriber.acknowledge({ subscription: other, ackIds: [receivedMessages?.[0]?.ackId ?? ""] }, ONCE);
        assert.deepEqual(await look(), []);
        const missing = { subscription: name("subscriptions"), ackIds: [receivedMessages?.[0]?.ackId ?? ""] };
        await assert.rejects(subscriber.acknowledge(missing, ONCE), { code: NOT_FOUND });
        await assert.rejects(subscriber.modifyAckDeadline({ ...missing, ackDeadlineSeconds: 10 }, ONCE), {
          code: NOT_FOUND,
        });
      },
    },
  ],
};
