import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openServicebus } from "../testing/servicebus.ts";

const HOUR = 3_600_000;

describe("acts of the Service Bus server", () => {
  it("SB-05: a lock ends early, and its holder is told so when it settles", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, one, receiver, acts } = queue();
    await send({ body: "a", messageId: "m-1" });
    const message = await one();
    assert.equal(acts.expire("m-1"), true);
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
    await assert.rejects(receiver.completeMessage(message), { code: "MessageLockLost" });
    assert.equal((await one()).deliveryCount, 1);
  });

  it("a delay ends early", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, one, acts } = queue();
    await sender().scheduleMessages({ body: "a", messageId: "m-1" }, new Date(clock.now() + HOUR));
    assert.equal(acts.counts().delayed, 1);
    assert.equal(acts.expire("m-1"), true);
    assert.equal((await one()).deliveryCount, 0);
  });

  it("SB-05: the lock of a session ends early with that of one of its messages", async (test) => {
    const { queue, roundTrip } = await openServicebus(test);
    const { send, session, take, acts } = queue({ requiresSession: true });
    await send(...["m-1", "m-2"].map((messageId) => ({ body: "a", messageId, sessionId: "a" })));
    const a = await session("a");
    const [, second] = await take(2, a);
    assert.equal(acts.expire("m-1"), true);
    await roundTrip();
    await assert.rejects(a.completeMessage(second!), { code: "SessionLockLost" });
    assert.equal((await take(2, await session("a"))).length, 2);
  });

  it("a message is delivered twice, and each delivery is settled on its own", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, take, one, receiver, acts } = queue();
    await send({ body: "a", messageId: "m-1" });
    const first = await one();
    assert.equal(acts.duplicate("m-1"), true);
    const second = await one();
    assert.equal(second.messageId, "m-1");
    assert.equal(String(second.body), String(first.body));
    assert.notEqual(second.lockToken, first.lockToken);
    await receiver.completeMessage(first);
    await receiver.completeMessage(second);
    assert.deepEqual(acts.messageIds(), []);
    await send({ body: "b", messageId: "m-2" });
    assert.equal(acts.duplicate("m-2"), true);
    assert.deepEqual(
      (await take(2)).map(({ messageId }) => messageId),
      ["m-2", "m-2"],
    );
  });

  it("SB-44: where duplicates are detected there is none", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, acts } = queue({ duplicateDetectionWindowMs: HOUR });
    await send({ body: "a", messageId: "m-1" });
    assert.equal(acts.duplicate("m-1"), false);
    assert.deepEqual(acts.messageIds(), ["m-1"]);
  });

  it("a message vanishes, from under its holder too", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, one, none, receiver, acts } = queue();
    await send({ body: "a", messageId: "m-1" }, { body: "b", messageId: "m-2" });
    const message = await one();
    assert.equal(acts.lose("m-1"), true);
    assert.equal(acts.lose("m-2"), true);
    assert.deepEqual(acts.messageIds(), []);
    await assert.rejects(receiver.completeMessage(message), { code: "MessageLockLost" });
    await none();
  });

  it("SB-32: a message is dead-lettered by count, from under its holder", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path, send, one, receiver, deadLetters, acts } = queue();
    await send({ body: "a", messageId: "m-1" });
    const message = await one();
    assert.equal(acts.deadLetterByCount("m-1"), true);
    await assert.rejects(receiver.completeMessage(message), { code: "MessageLockLost" });
    const dead = await one(deadLetters());
    assert.equal(dead.messageId, "m-1");
    assert.equal(dead.deadLetterReason, "MaxDeliveryCountExceeded");
    assert.equal(servicebus.acts(`${path}/$DeadLetterQueue`).deadLetterByCount("m-1"), false);
  });

  it("what is not there can have nothing done to it", async (test) => {
    const { queue } = await openServicebus(test);
    const { acts, send } = queue();
    await send({ body: "a", messageId: "m-1" });
    for (const act of [acts.expire, acts.duplicate, acts.lose, acts.deadLetterByCount]) assert.equal(act("m-2"), false);
    // There is no lock that could end.
    assert.equal(acts.expire("m-1"), false);
    assert.deepEqual(acts.messageIds(), ["m-1"]);
  });

  it("what there is is listed in the order of arrival and counted by what can be had of it", async (test) => {
    const { queue, clock, client } = await openServicebus(test);
    const { path, send, take, receiver, acts } = queue();
    await send(...["m-1", "m-2", "m-3", "m-4"].map((messageId) => ({ body: "a", messageId })));
    const due = new Date(clock.now() + HOUR);
    await client.createSender(path).scheduleMessages({ body: "a", messageId: "m-5" }, due);
    const [first, second, third] = await take(3);
    await receiver.abandonMessage(first!);
    await receiver.deferMessage(second!);
    assert.deepEqual(acts.messageIds(), ["m-1", "m-2", "m-3", "m-4", "m-5"]);
    assert.deepEqual(acts.counts(), { visible: 2, inFlight: 1, delayed: 2 });
    await receiver.completeMessage(third!);
    assert.deepEqual(acts.counts(), { visible: 2, inFlight: 0, delayed: 2 });
  });
});
