import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

describe("topics of the Service Bus server", () => {
  it("1.2: each subscription gets what is sent to the topic", async (test) => {
    const { subscription } = await openServicebus(test);
    const one = subscription("t", "one");
    const two = subscription("t", "two");
    await one.send({ body: Buffer.from("a"), messageId: "m-1", applicationProperties: { kept: "yes" } });
    await one.sender().sendMessages([{ body: Buffer.from("b") }, { body: Buffer.from("c") }]);
    for (const { take } of [one, two]) {
      const messages = await take(3);
      assert.deepEqual(bodies(messages), ["a", "b", "c"]);
      assert.equal(messages[0]?.messageId, "m-1");
      assert.equal(messages[0]?.applicationProperties?.["kept"], "yes");
    }
  });

  it("1.2: a subscription gets what is sent from when it was made", async (test) => {
    const { subscription } = await openServicebus(test);
    const early = subscription("t", "early");
    await early.send("before");
    const late = subscription("t", "late");
    await early.send("after");
    assert.deepEqual(bodies(await early.take(2)), ["before", "after"]);
    assert.deepEqual(bodies(await late.take(1)), ["after"]);
    await late.none();
  });

  it("1.2: subscriptions settle, count and lock on their own", async (test) => {
    const { subscription, clock } = await openServicebus(test);
    const one = subscription("t", "one", { lockDurationMs: 10 * SECOND });
    const two = subscription("t", "two", { lockDurationMs: 60 * SECOND });
    await one.send("a");
    await one.receiver.abandonMessage(await one.one(), { only: "one" });
    const mine = await one.one();
    const theirs = await two.one();
    assert.deepEqual([mine.deliveryCount, theirs.deliveryCount], [1, 0]);
    assert.equal(theirs.applicationProperties?.["only"], undefined);
    assert.notEqual(mine.lockToken, theirs.lockToken);
    clock.advance(10 * SECOND);
    await assert.rejects(one.receiver.completeMessage(mine), { code: "MessageLockLost" });
    await two.receiver.completeMessage(theirs);
    assert.deepEqual(two.acts.messageIds(), []);
    assert.equal((await one.one()).deliveryCount, 2);
  });

  it("1.3: each subscription has dead letters of its own", async (test) => {
    const { subscription } = await openServicebus(test);
    const one = subscription("t", "one", { maxDeliveryCount: 1 });
    const two = subscription("t", "two");
    await one.send("a");
    await one.receiver.abandonMessage(await one.one());
    const dead = await one.one(one.deadLetters());
    assert.equal(dead.deadLetterReason, "MaxDeliveryCountExceeded");
    await two.none(two.deadLetters());
    await two.one();
  });

  it("1.2: what is scheduled on a topic reaches its subscriptions at its time, or is taken back", async (test) => {
    const { subscription, clock } = await openServicebus(test);
    const one = subscription("t", "one");
    const two = subscription("t", "two");
    const due = new Date(Math.floor(clock.now()) + HOUR);
    const numbers = await one
      .sender()
      .scheduleMessages([{ body: Buffer.from("stays") }, { body: Buffer.from("goes") }], due);
    await one.sender().cancelScheduledMessages(numbers[1]!);
    await one.none();
    clock.advance(HOUR);
    for (const { take, none } of [one, two]) {
      assert.deepEqual(bodies(await take(1)), ["stays"]);
      await none();
    }
  });

  it("SB-35: a subscription defers on its own", async (test) => {
    const { subscription } = await openServicebus(test);
    const one = subscription("t", "one");
    const two = subscription("t", "two");
    await one.send("a");
    const message = await one.one();
    await one.receiver.deferMessage(message);
    await one.none();
    await two.receiver.completeMessage(await two.one());
    const [deferred] = await one.receiver.receiveDeferredMessages(message.sequenceNumber!);
    await one.receiver.completeMessage(deferred!);
    assert.deepEqual(one.acts.messageIds(), []);
  });

  it("1.3: a subscription's address is its topic's, Subscriptions and its name, in any capitals", async (test) => {
    const { subscription, client } = await openServicebus(test);
    const { send, take } = subscription("Topic", "Sub");
    await send("a");
    const receiver = client.createReceiver("TOPIC/subscriptions/SUB", { skipParsingBodyAsJson: true });
    assert.deepEqual(bodies(await take(1, receiver)), ["a"]);
  });

  it("1.2: a subscription that is not there is not found, and a topic without any swallows", async (test) => {
    const { servicebus, client } = await openServicebus(test);
    servicebus.createTopic("t");
    await assert.rejects(client.createReceiver("t", "nowhere").receiveMessages(1), {
      code: "MessagingEntityNotFound",
    });
    await client.createSender("t").sendMessages({ body: "a" });
  });
});

describe("duplicate detection on the Service Bus server", () => {
  const windowMs = 10 * 60 * SECOND;

  it("SB-44: an id that was sent within the window is dropped, and the sender is not told", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, take, none } = queue({ duplicateDetectionWindowMs: windowMs });
    await send({ body: Buffer.from("first"), messageId: "m-1" });
    await send({ body: Buffer.from("second"), messageId: "m-1" }, { body: Buffer.from("other"), messageId: "m-2" });
    const messages = await take(2);
    assert.deepEqual(bodies(messages), ["first", "other"]);
    for (const message of messages) await receiver.completeMessage(message);
    clock.advance(windowMs - 1);
    await send({ body: Buffer.from("third"), messageId: "m-1" });
    await none();
  });

  it("SB-44: after the window the id is new", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, take } = queue({ duplicateDetectionWindowMs: windowMs });
    await send({ body: Buffer.from("first"), messageId: "m-1" });
    clock.advance(windowMs);
    await send({ body: Buffer.from("second"), messageId: "m-1" });
    assert.deepEqual(bodies(await take(2)), ["first", "second"]);
  });

  it("SB-44: in a batch the first of an id is kept", async (test) => {
    const { queue } = await openServicebus(test);
    const { sender, take, none } = queue({ duplicateDetectionWindowMs: windowMs });
    await sender().sendMessages([
      { body: Buffer.from("a"), messageId: "m-1" },
      { body: Buffer.from("b"), messageId: "m-1" },
      { body: Buffer.from("c"), messageId: "m-2" },
    ]);
    assert.deepEqual(bodies(await take(2)), ["a", "c"]);
    await none();
  });

  it("SB-34: a scheduled copy with the same id is dropped silently", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, sender, send, one, acts } = queue({ duplicateDetectionWindowMs: windowMs });
    await send({ body: "a", messageId: "m-1" });
    const message = await one();
    await sender().scheduleMessages({ body: "a", messageId: "m-1" }, new Date(clock.now() + 30 * SECOND));
    await receiver.completeMessage(message);
    clock.advance(30 * SECOND);
    assert.deepEqual(acts.messageIds(), []);
  });

  it("SB-44: without a window nothing is dropped", async (test) => {
    const { queue, subscription } = await openServicebus(test);
    for (const { send, take } of [queue(), subscription("t", "s")]) {
      await send({ body: Buffer.from("a"), messageId: "m-1" }, { body: Buffer.from("b"), messageId: "m-1" });
      assert.deepEqual(bodies(await take(2)), ["a", "b"]);
    }
  });

  it("SB-44: a topic drops for all its subscriptions", async (test) => {
    const { servicebus, client } = await openServicebus(test);
    servicebus.createTopic("t", { duplicateDetectionWindowMs: windowMs });
    servicebus.createSubscription("t", "one");
    servicebus.createSubscription("t", "two");
    for (let round = 0; round < 2; round++) {
      await client.createSender("t").sendMessages({ body: "a", messageId: "m-1" });
    }
    for (const name of ["one", "two"]) {
      assert.deepEqual(servicebus.acts(`t/Subscriptions/${name}`).messageIds(), ["m-1"]);
    }
  });
});
