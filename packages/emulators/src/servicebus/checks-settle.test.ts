import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";

describe("settling a message of the Service Bus server", () => {
  it("1.3: complete removes the message", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one, none, acts } = queue();
    await send("a");
    await receiver.completeMessage(await one());
    assert.deepEqual(acts.messageIds(), []);
    clock.advance(3_600_000);
    await none();
  });

  it("SB-33: an abandoned message is back at once and in front, and the delivery counts", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one, take } = queue();
    await send("a", "b");
    const first = await one();
    await receiver.abandonMessage(first);
    const [a, b] = await take(2);
    assert.deepEqual([String(a?.body), String(b?.body)], ["a", "b"]);
    assert.deepEqual([a?.deliveryCount, b?.deliveryCount], [1, 0]);
    assert.equal(a?.messageId, first.messageId);
    assert.equal(a?.sequenceNumber?.toString(), first.sequenceNumber?.toString());
    assert.notEqual(a?.lockToken, first.lockToken);
  });

  it("1.3: abandon adds properties to those that are there", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one } = queue();
    await send({ body: "a", applicationProperties: { kept: "yes", changed: "before" } });
    await receiver.abandonMessage(await one(), { changed: "after", added: 7 });
    assert.deepEqual({ ...(await one()).applicationProperties }, { kept: "yes", changed: "after", added: 7 });
  });

  it("SB-21: settling twice is refused by the SDK, with an error that has no code", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { receiver, send, one } = queue();
    await send("a");
    const message = await one();
    await receiver.completeMessage(message);
    await assert.rejects(receiver.completeMessage(message), (error: Error & { readonly code?: string }) => {
      assert.equal(error.code, undefined);
      assert.match(error.message, /already settled/);
      return true;
    });
    assert.equal(servicebus.calls.of("Complete").calls, 1);
  });

  it("1.3: messages of one receive are settled in any order and at the same time", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, take, acts } = queue();
    await send("a", "b", "c", "d");
    const [a, b, c, d] = await take(4);
    assert.ok(a && b && c && d);
    await Promise.all([
      receiver.completeMessage(d),
      receiver.completeMessage(b),
      receiver.abandonMessage(c),
      receiver.completeMessage(a),
    ]);
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
    assert.deepEqual(bodies(await take(1)), ["c"]);
  });

  it("SB-06: a message whose link was detached is still completed, over $management", async (test) => {
    const { queue, servicebus, roundTrip } = await openServicebus(test);
    const { path, receiver, send, one, acts } = queue();
    await send("a");
    const message = await one();
    assert.ok(servicebus.detach(path) >= 1);
    await roundTrip();
    await receiver.completeMessage(message);
    assert.deepEqual(acts.messageIds(), []);
    assert.equal(servicebus.calls.of("Complete").calls, 1);
  });

  it("SB-06: a message whose link was detached is still abandoned, with properties", async (test) => {
    const { queue, servicebus, roundTrip } = await openServicebus(test);
    const { path, receiver, send, one } = queue();
    await send("a");
    const message = await one();
    servicebus.detach(path);
    await roundTrip();
    await receiver.abandonMessage(message, { why: "detached" });
    const again = await one();
    assert.equal(again.deliveryCount, 1);
    assert.equal(again.applicationProperties?.["why"], "detached");
  });

  it("SB-06: a message whose link was detached is still deferred", async (test) => {
    const { queue, servicebus, roundTrip } = await openServicebus(test);
    const { path, receiver, send, one, none } = queue();
    await send("a");
    const message = await one();
    servicebus.detach(path);
    await roundTrip();
    await receiver.deferMessage(message, { why: "detached" });
    await none();
    const [deferred] = await receiver.receiveDeferredMessages(message.sequenceNumber!);
    assert.equal(deferred?.applicationProperties?.["why"], "detached");
  });

  it("SB-06: a message whose link was detached is still dead-lettered, with all that is said of it", async (test) => {
    const { queue, servicebus, roundTrip } = await openServicebus(test);
    const { path, receiver, send, one, deadLetters, none } = queue();
    await send("a");
    const message = await one();
    servicebus.detach(path);
    await roundTrip();
    await receiver.deadLetterMessage(message, {
      deadLetterReason: "reason",
      deadLetterErrorDescription: "description",
      why: "detached",
    });
    await none();
    const dead = await one(deadLetters());
    assert.equal(dead.deadLetterReason, "reason");
    assert.equal(dead.deadLetterErrorDescription, "description");
    assert.equal(dead.applicationProperties?.["why"], "detached");
  });

  it("SB-24: a settle over $management fails with MessageLockLost once the lock is over", async (test) => {
    const { queue, servicebus, clock, roundTrip } = await openServicebus(test);
    const { path, receiver, send, one, acts } = queue({ lockDurationMs: 30_000 });
    await send("a");
    const message = await one();
    servicebus.detach(path);
    await roundTrip();
    clock.advance(30_000);
    await assert.rejects(receiver.completeMessage(message), { code: "MessageLockLost", retryable: false });
    assert.equal(acts.messageIds().length, 1);
  });

  it("1.4 (2): a closed receiver refuses to settle, and nothing goes out", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { open, send, one } = queue();
    await send("a");
    const receiver = open();
    const message = await one(receiver);
    await receiver.close();
    await assert.rejects(receiver.completeMessage(message));
    assert.equal(servicebus.calls.of("Complete").calls, 0);
  });
});
