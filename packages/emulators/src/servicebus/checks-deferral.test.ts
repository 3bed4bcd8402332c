import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from "@azure/service-bus";
import { bodies, openServicebus } from "../testing/servicebus.ts";

const SECOND = 1_000;

describe("deferral on the Service Bus server", () => {
  it("SB-35: a deferred message is not received, is still there, and is had by its number alone", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one, none } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message, { why: "later" });
    clock.advance(3_600 * SECOND);
    await none();
    const [peeked] = await receiver.peekMessages(1);
    assert.equal(peeked?.state, "deferred");
    const deferred = await back(receiver, message);
    assert.equal(deferred.messageId, message.messageId);
    assert.equal(deferred.state, "deferred");
    assert.equal(deferred.applicationProperties?.["why"], "later");
    assert.notEqual(deferred.lockToken, message.lockToken);
    assert.equal(deferred.lockedUntilUtc?.getTime(), Math.floor(clock.now()) + 60 * SECOND);
  });

  it("SB-35: several are had with one call", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, take } = queue();
    await send("a", "b", "c");
    const messages = await take(3);
    for (const message of messages) await receiver.deferMessage(message);
    const [a, , c] = messages.map(({ sequenceNumber }) => sequenceNumber!);
    assert.ok(a && c);
    assert.deepEqual(bodies(await receiver.receiveDeferredMessages([a, c])), ["a", "c"]);
  });

  it("SB-07: a deferred message is completed over $management", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { receiver, send, one, acts } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message);
    await receiver.completeMessage(await back(receiver, message));
    assert.deepEqual(acts.messageIds(), []);
    assert.equal(servicebus.calls.of("ReceiveBySequenceNumber").calls, 1);
    assert.equal(servicebus.calls.of("Complete").calls, 1);
  });

  it("1.2: a deferred message that is abandoned stays deferred, and the delivery counts", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one, none } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message);
    const deferred = await back(receiver, message);
    await receiver.abandonMessage(deferred, { why: "abandoned" });
    await none();
    const again = await back(receiver, message);
    assert.equal(again.deliveryCount, (deferred.deliveryCount ?? 0) + 1);
    assert.equal(again.applicationProperties?.["why"], "abandoned");
  });

  it("1.2: a deferred message is dead-lettered with its reason", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one, deadLetters, acts } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message);
    await receiver.deadLetterMessage(await back(receiver, message), {
      deadLetterReason: "reason",
      deadLetterErrorDescription: "description",
    });
    assert.deepEqual(acts.messageIds(), []);
    const dead = await one(deadLetters());
    assert.equal(dead.deadLetterReason, "reason");
    assert.equal(dead.state, "active");
  });

  it("1.2: a deferred message is deferred once more", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one, none } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message);
    await receiver.deferMessage(await back(receiver, message));
    await none();
    assert.equal((await back(receiver, message)).state, "deferred");
  });

  it("1.3: the lock of a deferred message is renewed, runs out, and is then had anew", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one, none } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message);
    const deferred = await back(receiver, message);
    clock.advance(30 * SECOND);
    assert.equal((await receiver.renewMessageLock(deferred)).getTime(), Math.floor(clock.now()) + 60 * SECOND);
    clock.advance(60 * SECOND);
    await assert.rejects(receiver.completeMessage(deferred), { code: "MessageLockLost" });
    await none();
    await receiver.completeMessage(await back(receiver, message));
  });

  it("1.3: a number that is not there, or not deferred, is refused with MessageNotFound", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, take } = queue();
    await send("a", "b");
    const [gone, locked] = await take(2);
    assert.ok(gone && locked);
    const missing = { code: "MessageNotFound", retryable: false };
    await assert.rejects(receiver.receiveDeferredMessages(locked.sequenceNumber!), missing);
    await receiver.deferMessage(gone);
    await receiver.completeMessage(await back(receiver, gone));
    await assert.rejects(receiver.receiveDeferredMessages(gone.sequenceNumber!), missing);
  });

  it("1.3: one number that is not there spoils the call, and locks nothing", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, one } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message);
    const number = message.sequenceNumber!;
    await assert.rejects(receiver.receiveDeferredMessages([number, number.add(1_000)]), { code: "MessageNotFound" });
    await receiver.completeMessage(await back(receiver, message));
  });

  it("1.3: receive-and-delete gives deferred messages away for good", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, open, send, one, acts } = queue();
    await send("a");
    const message = await one();
    await receiver.deferMessage(message);
    const taker = open({ receiveMode: "receiveAndDelete" });
    assert.deepEqual(bodies(await taker.receiveDeferredMessages(message.sequenceNumber!)), ["a"]);
    assert.deepEqual(acts.messageIds(), []);
  });
});

/** The message, by its sequence number. */
async function back(
  receiver: ServiceBusReceiver,
  { sequenceNumber }: ServiceBusReceivedMessage,
): Promise<ServiceBusReceivedMessage> {
  const messages = await receiver.receiveDeferredMessages(sequenceNumber!);
  assert.equal(messages.length, 1);
  return messages[0] as ServiceBusReceivedMessage;
}
