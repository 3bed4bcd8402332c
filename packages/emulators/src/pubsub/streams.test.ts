import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openPubsub, openStream } from "../testing/pubsub.ts";
import { until } from "../testing/until.ts";

const [CANCELLED, PERMISSION_DENIED, UNAVAILABLE] = [1, 7, 14];

describe("streams through the front", () => {
  it("are counted, and open until they end", async (test) => {
    const { queue, pubsub, subscriber } = await openPubsub(test);
    const { subscription } = queue();
    const stream = openStream(subscriber, subscription);
    await until(() => stream.answers.length === 1);
    assert.deepEqual(pubsub.calls.of("StreamingPull"), { calls: 1, entries: 1, open: 1 });
    stream.cancel();
    assert.equal(await stream.ended, CANCELLED);
    await until(() => pubsub.calls.of("StreamingPull").open === 0);
  });

  it("end with the error that a fault asks for, or without one, and lease nothing", async (test) => {
    const { queue, pubsub, subscriber } = await openPubsub(test);
    const { subscription, send } = queue();
    await send("a");
    for (const [fault, status] of [
      [{ error: { code: "PERMISSION_DENIED" } }, PERMISSION_DENIED],
      [{ drop: "before" }, UNAVAILABLE],
    ] as const) {
      pubsub.faults.add({ operation: "StreamingPull", ...fault });
      const stream = openStream(subscriber, subscription);
      assert.equal(await stream.ended, status);
      assert.equal(pubsub.acts(subscription).counts().inFlight, 0);
      await until(() => pubsub.calls.of("StreamingPull").open === 0);
    }
  });

  it("break after what is there was leased, or keep it to themselves", async (test) => {
    const { queue, pubsub, subscriber } = await openPubsub(test);
    // The one that breaks the connection comes last: nothing waits for another then.
    for (const fault of [{ hang: "after" }, { drop: "after" }] as const) {
      const { subscription, send } = queue();
      await send("a");
      pubsub.faults.add({ operation: "StreamingPull", ...fault });
      const stream = openStream(subscriber, subscription);
      await until(() => pubsub.acts(subscription).counts().inFlight === 1);
      if ("hang" in fault) stream.cancel();
      assert.equal(await stream.ended, "hang" in fault ? CANCELLED : UNAVAILABLE);
      assert.deepEqual(stream.answers, []);
    }
  });

  it("have their requests and answers under way as long as a fault says", async (test) => {
    const { queue, pubsub, subscriber, clock } = await openPubsub(test);
    const { subscription, send } = queue();
    await send("a");
    pubsub.faults.add({ operation: "StreamingPull", delayMs: 1_000, answerDelayMs: 2_000 });
    const stream = openStream(subscriber, subscription);
    await until(() => pubsub.calls.of("StreamingPull").open === 1);
    assert.equal(pubsub.acts(subscription).counts().inFlight, 0);
    clock.advance(1_000);
    await until(() => pubsub.acts(subscription).counts().inFlight === 1);
    await send("b");
    assert.deepEqual(stream.answers, []);
    clock.advance(2_000);
    await until(() => stream.texts().length === 2);
    assert.deepEqual(stream.texts(), ["a", "b"]);
  });

  it("proto StreamingPullResponse: exactly-once, they are told what became of each id, and go on", async (test) => {
    const { queue, subscriber } = await openPubsub(test);
    const { subscription, send, one, pull, modify } = queue({ enableExactlyOnceDelivery: true });
    await send("a");
    const stale = await one();
    await modify(0, stale);
    await send("b");
    const [again, other] = await pull();
    assert.ok(again !== undefined && other !== undefined);
    const stream = openStream(subscriber, subscription);
    stream.write({
      ackIds: [again.ackId, stale.ackId],
      modifyDeadlineAckIds: [stale.ackId, other.ackId],
      modifyDeadlineSeconds: [30, 30],
    });
    await until(() => stream.answers.length === 2);
    const { acknowledgeConfirmation: acks, modifyAckDeadlineConfirmation: deadlines } = stream.answers[1] ?? {};
    assert.deepEqual([acks?.ackIds, acks?.invalidAckIds], [[again.ackId], [stale.ackId]]);
    assert.deepEqual([deadlines?.ackIds, deadlines?.invalidAckIds], [[other.ackId], [stale.ackId]]);
    await send("c");
    await until(() => stream.texts().length === 1);
    assert.deepEqual(stream.texts(), ["c"]);
  });
});
