import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SECOND = 1_000;
const DAY = 86_400 * SECOND;

describe("dead letters of the Service Bus server", () => {
  it("SB-36: dead-lettering settles, and keeps the message with its reason", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one, none, deadLetters, acts } = queue();
    await send({ body: "a", messageId: "m-1", correlationId: "c-1", applicationProperties: { kept: "yes" } });
    await receiver.deadLetterMessage(await one(), {
      deadLetterReason: "reason",
      deadLetterErrorDescription: "description",
      extra: 7,
    });
    await none();
    assert.deepEqual(acts.messageIds(), []);
    const dead = await one(deadLetters());
    assert.equal(dead.messageId, "m-1");
    assert.equal(dead.correlationId, "c-1");
    assert.equal(dead.deadLetterReason, "reason");
    assert.equal(dead.deadLetterErrorDescription, "description");
    assert.deepEqual(
      { ...dead.applicationProperties },
      { kept: "yes", extra: 7, DeadLetterReason: "reason", DeadLetterErrorDescription: "description" },
    );
  });

  it("SB-37: they are under a path of their own, in any capitals", async (test) => {
    const { queue, client } = await openServicebus(test);
    const { path, receiver, send, one } = queue();
    await send("a");
    await receiver.deadLetterMessage(await one());
    const dead = client.createReceiver(`${path}/$deadletterqueue`);
    await dead.completeMessage(await one(dead));
  });

  it("1.3: a dead letter says where it comes from", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one, deadLetters } = queue({}, "origin");
    await send("a");
    await receiver.deadLetterMessage(await one());
    const dead = await one(deadLetters());
    assert.equal(dead.deadLetterSource, "origin");
  });

  it("SB-32: the tenth delivery that fails is the last", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one, none, deadLetters } = queue();
    await send("a");
    for (let count = 0; count < 10; count++) {
      const message = await one();
      assert.equal(message.deliveryCount, count);
      await receiver.abandonMessage(message);
    }
    await none();
    const dead = await one(deadLetters());
    assert.equal(dead.deadLetterReason, "MaxDeliveryCountExceeded");
    assert.equal(dead.deadLetterErrorDescription, "Message could not be consumed after 10 delivery attempts.");
  });

  it("SB-32: locks that run out count too", async (test) => {
    const { queue, clock, servicebus } = await openServicebus(test);
    const { path, receiver, send, one, none, deadLetters, acts } = queue({ maxDeliveryCount: 2 });
    await send("a");
    await one();
    clock.advance(60 * SECOND);
    const last = await one();
    clock.advance(60 * SECOND);
    assert.deepEqual(acts.messageIds(), []);
    assert.deepEqual(servicebus.acts(`${path}/$DeadLetterQueue`).messageIds(), [last.messageId]);
    await none();
    await assert.rejects(receiver.completeMessage(last), { code: "MessageLockLost" });
    const dead = await one(deadLetters());
    assert.equal(dead.deadLetterReason, "MaxDeliveryCountExceeded");
    assert.equal(dead.deadLetterErrorDescription, "Message could not be consumed after 2 delivery attempts.");
  });

  it("1.2: a receiver of dead letters that waits is woken", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { receiver, send, one, deadLetters } = queue();
    await send("a");
    const message = await one();
    const waiting = one(deadLetters());
    await until(() => servicebus.calls.of("Receive").calls === 2);
    await receiver.deadLetterMessage(message);
    assert.equal((await waiting).messageId, message.messageId);
  });

  it("1.2: dead letters are locked, renewed, abandoned and completed like others", async (test) => {
    const { queue, clock, servicebus } = await openServicebus(test);
    const { path, receiver, send, one, none, deadLetters } = queue({ maxDeliveryCount: 1 });
    await send("a");
    await receiver.deadLetterMessage(await one());
    const dead = deadLetters();
    const first = await one(dead);
    clock.advance(30 * SECOND);
    await dead.renewMessageLock(first);
    clock.advance(60 * SECOND - 1);
    await none(dead);
    clock.advance(1);
    await assert.rejects(dead.completeMessage(first), { code: "MessageLockLost" });
    // They are not counted out (SB-37), however low the count is.
    for (let round = 0; round < 3; round++) await dead.abandonMessage(await one(dead));
    await dead.completeMessage(await one(dead));
    assert.deepEqual(servicebus.acts(`${path}/$DeadLetterQueue`).messageIds(), []);
  });

  it("1.2: dead letters can be peeked at", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, take, deadLetters } = queue();
    await send("a", "b");
    for (const message of await take(2)) await receiver.deadLetterMessage(message);
    assert.deepEqual(bodies(await deadLetters().peekMessages(5)), ["a", "b"]);
    assert.deepEqual(await receiver.peekMessages(5), []);
  });

  it("1.3: the transfer dead letters are there, and empty", async (test) => {
    const { queue } = await openServicebus(test);
    const { open, none } = queue();
    await none(open({ subQueueType: "transferDeadLetter" }));
  });

  it("1.3: a message whose time is over goes to the dead letters, if the entity says so", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, one, none, deadLetters, acts } = queue({ deadLetterOnExpiration: true });
    await send({ body: "a", timeToLive: 10 * SECOND });
    clock.advance(10 * SECOND - 1);
    assert.equal(acts.counts().visible, 1);
    clock.advance(1);
    assert.equal(acts.counts().visible, 0);
    await none();
    assert.equal((await one(deadLetters())).deadLetterReason, "TTLExpiredException");
  });

  it("1.3: else it vanishes", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, none, deadLetters, acts } = queue();
    await send({ body: "a", timeToLive: 10 * SECOND });
    clock.advance(10 * SECOND);
    assert.deepEqual(acts.messageIds(), []);
    await none();
    await none(deadLetters());
  });

  it("1.3: the entity's time to live is for messages without one, and the longest for the others", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, receiver, acts } = queue({ defaultTimeToLiveMs: 60 * SECOND });
    await send(
      { body: "a", messageId: "without" },
      { body: "b", messageId: "longer", timeToLive: DAY },
      { body: "c", messageId: "shorter", timeToLive: 10 * SECOND },
    );
    const now = Math.floor(clock.now());
    assert.deepEqual(
      (await receiver.peekMessages(3)).map(({ expiresAtUtc }) => (expiresAtUtc?.getTime() ?? 0) - now),
      [60 * SECOND, 60 * SECOND, 10 * SECOND],
    );
    clock.advance(10 * SECOND);
    assert.deepEqual(acts.messageIds(), ["without", "longer"]);
    clock.advance(50 * SECOND);
    assert.deepEqual(acts.messageIds(), []);
  });

  // learn.microsoft.com/azure/service-bus-messaging/message-expiration: a locked message may be over, and can be settled.
  it("a message under lock is not taken from its holder when its time is over", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, take, one, none, deadLetters, acts } = queue({ deadLetterOnExpiration: true });
    await send({ body: "a", timeToLive: 10 * SECOND }, { body: "b", timeToLive: 10 * SECOND });
    const [completed, left] = await take(2);
    assert.ok(completed && left);
    clock.advance(20 * SECOND);
    await receiver.completeMessage(completed);
    await receiver.renewMessageLock(left);
    clock.advance(60 * SECOND);
    await none();
    assert.deepEqual(acts.messageIds(), []);
    assert.equal((await one(deadLetters())).deadLetterReason, "TTLExpiredException");
  });

  it("SB-37: the time to live is not observed among dead letters", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one, deadLetters } = queue({ defaultTimeToLiveMs: 60 * SECOND });
    await send({ body: "a", messageId: "m-1", timeToLive: 10 * SECOND });
    await receiver.deadLetterMessage(await one());
    clock.advance(365 * DAY);
    assert.equal((await one(deadLetters())).messageId, "m-1");
  });
});
