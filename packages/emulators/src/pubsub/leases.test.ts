import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ONCE, openPubsub } from "../testing/pubsub.ts";

const SECOND = 1_000;
const DAY = 86_400 * SECOND;

describe("leases", () => {
  it("PS-03: a message is there again to the millisecond when its deadline is over, and an extension counts from now", async (test) => {
    const { queue, clock } = await openPubsub(test);
    const { send, one, texts, modify } = queue({ ackDeadlineSeconds: 10 });
    await send("a");
    const first = await one();
    clock.advance(10 * SECOND - 1);
    assert.deepEqual(await texts(), []);
    await modify(600, first);
    clock.advance(600 * SECOND - 1);
    assert.deepEqual(await texts(), []);
    clock.advance(1);
    assert.deepEqual(await texts(), ["a"]);
  });

  it("PS-02: an ack after the deadline is applied, or ignored, as the option says", async (test) => {
    for (const [staleAck, left] of [
      ["applied", []],
      ["ignored", ["a"]],
    ] as const) {
      const { queue, clock } = await openPubsub(test, { staleAck });
      const { send, one, ack, texts } = queue();
      await send("a");
      const first = await one();
      clock.advance(10 * SECOND);
      await ack(first);
      assert.deepEqual(await texts(), left);
    }
  });

  it("PS-05: there is no end to extending", async (test) => {
    const { queue, clock } = await openPubsub(test);
    const { send, one, modify, ack, texts } = queue();
    await send("a");
    const held = await one();
    for (let times = 0; times < 200; times++) {
      await modify(600, held);
      clock.advance(599 * SECOND);
    }
    await ack(held);
    clock.advance(DAY);
    assert.deepEqual(await texts(), []);
  });

  it("PS-44: a retry policy doubles the wait, up to its maximum, after nacks and lapses alike", async (test) => {
    const { queue, clock } = await openPubsub(test);
    const { send, one, modify, texts } = queue({ minimumBackoffMs: 2_000, maximumBackoffMs: 5_000 });
    await send("a");
    for (const waitMs of [2_000, 4_000, 5_000, 5_000]) {
      await modify(0, await one());
      clock.advance(waitMs - 1);
      assert.deepEqual(await texts(), []);
      clock.advance(1);
    }
    await one();
    clock.advance(10 * SECOND);
    assert.deepEqual(await texts(), []);
    clock.advance(5 * SECOND);
    assert.deepEqual(await texts(), ["a"]);
  });

  it("a message vanishes at the age that the subscription keeps, leased or not", async (test) => {
    const { queue, clock, pubsub } = await openPubsub(test);
    const { send, texts, subscription } = queue({ retentionMs: DAY });
    await send("a");
    await send("b");
    clock.advance(DAY - 1);
    assert.deepEqual(await texts(1), ["a"]);
    assert.deepEqual(pubsub.acts(subscription).counts(), { visible: 1, inFlight: 1, delayed: 0 });
    clock.advance(1);
    assert.deepEqual(pubsub.acts(subscription).counts(), { visible: 0, inFlight: 0, delayed: 0 });
    assert.deepEqual(await texts(), []);
    await send("c");
    assert.deepEqual(await texts(), ["c"]);
  });
});

describe("dead letters", () => {
  it("PS-41: leases that ran out count as well, and nobody has to ask for the message to go", async (test) => {
    const { queue, clock, pubsub } = await openPubsub(test);
    const dead = queue();
    const { send, one, subscription } = queue({ deadLetterTopic: dead.topic, maxDeliveryAttempts: 6 });
    await send("a");
    for (const attempt of [1, 2, 3, 4, 5, 6]) {
      assert.equal((await one()).attempt, attempt);
      clock.advance(10 * SECOND);
    }
    const letter = await dead.one();
    assert.equal(letter.text, "a");
    assert.equal(letter.attributes["CloudPubSubDeadLetterSourceDeliveryCount"], "6");
    assert.deepEqual(pubsub.acts(subscription).messageIds(), []);
  });

  it("without a topic to go to a message is delivered on and on", async (test) => {
    const { queue, publisher } = await openPubsub(test);
    const dead = queue();
    const { send, one, modify } = queue({ deadLetterTopic: dead.topic });
    await publisher.deleteTopic({ topic: dead.topic }, ONCE);
    await send("a");
    for (const attempt of [1, 2, 3, 4, 5, 6, 7]) {
      const delivery = await one();
      assert.equal(delivery.attempt, attempt);
      await modify(0, delivery);
    }
  });
});

describe("ordering keys", () => {
  it("PS-45: while the answer of one pull is out, no other pull gets more of the key, and other keys go on", async (test) => {
    const { queue } = await openPubsub(test);
    const { send, pull, texts, ack } = queue({ enableMessageOrdering: true });
    for (const text of ["a1", "a2", "a3"]) await send(text, "a");
    const [first, second] = await pull(2);
    assert.deepEqual([first?.text, second?.text], ["a1", "a2"]);
    await send("b1", "b");
    assert.deepEqual(await texts(), ["b1"]);
    if (first !== undefined && second !== undefined) await ack(first, second);
    assert.deepEqual(await texts(), ["a3"]);
  });

  it("PS-45: one that waits for its back-off holds back the later ones of its key", async (test) => {
    const { queue, clock } = await openPubsub(test);
    const { send, pull, texts, modify } = queue({ enableMessageOrdering: true, minimumBackoffMs: 5_000 });
    for (const text of ["a1", "a2"]) await send(text, "a");
    const [head] = await pull();
    if (head !== undefined) await modify(0, head);
    assert.deepEqual(await texts(), []);
    clock.advance(5 * SECOND);
    assert.deepEqual(await texts(), ["a1", "a2"]);
  });
});

describe("what a broker may do by itself", () => {
  it("ends leases, delivers twice, loses, and dead-letters by its own count", async (test) => {
    const { queue, pubsub } = await openPubsub(test);
    const dead = queue();
    const { send, one, pull, texts, ack, subscription } = queue({ deadLetterTopic: dead.topic });
    const acts = pubsub.acts(subscription);
    const id = await send("a");
    const held = await one();
    assert.deepEqual(acts.counts(), { visible: 0, inFlight: 1, delayed: 0 });
    assert.ok(acts.expire(id));
    const again = await one();
    assert.notEqual(again.ackId, held.ackId);
    assert.ok(acts.duplicate(id));
    const twin = await one();
    assert.deepEqual([twin.messageId, twin.text], [id, "a"]);
    await ack(again, twin);
    assert.deepEqual(acts.messageIds(), []);

    const lost = await send("b");
    assert.ok(acts.lose(lost));
    assert.ok(!acts.lose(lost));
    const buried = await send("c");
    assert.ok(acts.deadLetterByCount(buried));
    assert.deepEqual(await texts(), []);
    const [letter] = await dead.pull();
    assert.equal(letter?.text, "c");
    assert.equal(letter?.attributes["CloudPubSubDeadLetterSourceDeliveryCount"], "5");
    assert.deepEqual(await pull(), []);
  });
});
