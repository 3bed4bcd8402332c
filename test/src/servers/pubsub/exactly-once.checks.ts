import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { CheckGroup } from "./check.ts";

const SECOND = 1_000;

/** What a call with this stale ack id has to be refused with. */
const refusal = (...staleIds: readonly string[]) => ({
  code: 3,
  reason: "EXACTLY_ONCE_ACKID_FAILURE",
  domain: "pubsub.googleapis.com",
  errorInfoMetadata: Object.fromEntries(staleIds.map((ackId) => [ackId, "PERMANENT_FAILURE_INVALID_ACK_ID"])),
});

const settings = { enableExactlyOnceDelivery: true, ackDeadlineSeconds: 600 };

export const exactlyOnce: CheckGroup = {
  subject: "exactly-once",
  checks: [
    {
      name: "PS-04: the newest delivery can be extended and acked, and then never comes again",
      async run({ queue }) {
        const { send, one, modify, ack, look } = await queue(settings);
        await send("a");
        const { ackId } = await one();
        await modify(600, ackId);
        await ack(ackId);
        assert.deepEqual(await look(), []);
        await send("marker");
        assert.equal((await one()).text, "marker");
      },
    },
    {
      name: "PS-04: an ack of an earlier delivery is refused with the id and the reason, and the later one stays leased",
      async run({ queue }) {
        const { send, one, modify, ack, look } = await queue(settings);
        await send("a");
        const first = await one();
        await modify(0, first.ackId);
        const second = await one();
        assert.notEqual(first.ackId, second.ackId);
        await assert.rejects(ack(first.ackId), refusal(first.ackId));
        assert.deepEqual(await look(), []);
        await ack(second.ackId);
      },
    },
    {
      name: "PS-04: extending, or giving back, an earlier delivery is refused as well",
      async run({ queue }) {
        const { send, one, modify, ack, look } = await queue(settings);
        await send("a");
        const first = await one();
        await modify(0, first.ackId);
        const second = await one();
        await assert.rejects(modify(30, first.ackId), refusal(first.ackId));
        await assert.rejects(modify(0, first.ackId), refusal(first.ackId));
        assert.deepEqual(await look(), []);
        await ack(second.ackId);
      },
    },
    {
      name: "PS-04: an ack after the deadline is refused, also before the next delivery",
      async run({ queue }) {
        const { send, one, modify, ack } = await queue(settings);
        await send("a");
        const first = await one();
        await modify(1, first.ackId);
        await sleep(1.5 * SECOND);
        await assert.rejects(ack(first.ackId), refusal(first.ackId));
        const second = await one();
        assert.equal(second.id, first.id);
        await ack(second.ackId);
      },
    },
    {
      name: "PS-04: an extension after the deadline is refused, also before the next delivery",
      async run({ queue }) {
        const { send, one, modify } = await queue(settings);
        await send("a");
        const first = await one();
        await modify(1, first.ackId);
        await sleep(1.5 * SECOND);
        await assert.rejects(modify(60, first.ackId), refusal(first.ackId));
        assert.equal((await one()).id, first.id);
      },
    },
    {
      name: "PS-04: in a mixed request the good ids are applied, and the bad ones named",
      async run({ queue }) {
        const { send, take, one, modify, ack, look } = await queue(settings);
        await send("a", "b", "c");
        const [stale, good, other] = await take(3);
        assert.ok(stale !== undefined && good !== undefined && other !== undefined);
        await modify(0, stale.ackId);
        const again = await one();
        assert.equal(again.id, stale.id);
        await assert.rejects(ack(good.ackId, stale.ackId), refusal(stale.ackId));
        await assert.rejects(modify(0, other.ackId, stale.ackId), refusal(stale.ackId));
        assert.equal((await one()).id, other.id);
        await assert.rejects(modify(0, good.ackId), refusal(good.ackId));
        assert.deepEqual(await look(), []);
      },
    },
    {
      name: "PS-04: an ack of what is acked is refused",
      async run({ queue }) {
        const { send, one, ack } = await queue(settings);
        await send("a");
        const { ackId } = await one();
        await ack(ackId);
        await assert.rejects(ack(ackId), refusal(ackId));
      },
    },
    {
      name: "PS-04: no other delivery while the lease is live",
      async run({ queue }) {
        const { send, one, modify, ack, look } = await queue({ ...settings, ackDeadlineSeconds: 10 });
        await send("a");
        const { ackId } = await one();
        await modify(600, ackId);
        await sleep(10.5 * SECOND);
        assert.deepEqual(await look(), []);
        await ack(ackId);
      },
    },
    {
      name: "PS-04: the lease that ran out leads to a new delivery with a new ack id",
      async run({ queue }) {
        const { send, one, modify, ack } = await queue(settings);
        await send("a");
        const first = await one();
        await modify(1, first.ackId);
        const second = await one();
        assert.equal(second.id, first.id);
        assert.notEqual(second.ackId, first.ackId);
        await assert.rejects(ack(first.ackId), refusal(first.ackId));
        await ack(second.ackId);
      },
    },
    {
      name: "PS-04: an ack id that is none is refused",
      async run({ queue }) {
        const { ack, modify } = await queue(settings);
        await assert.rejects(ack("no-ack-id"), { code: 3 });
        await assert.rejects(modify(10, "no-ack-id"), { code: 3 });
      },
    },
  ],
};
