import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";

const LIMIT_BYTES = 262_144;

describe("sending to a queue of the Service Bus server", () => {
  it("1.2: a message arrives with all that its sender said", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, one } = queue();
    const sent = {
      body: Buffer.from([0, 1, 2, 255]),
      messageId: "m-1",
      correlationId: "c-1",
      contentType: "application/octet-stream",
      subject: "a subject",
      to: "somebody",
      replyTo: "somewhere",
      partitionKey: "p-1",
      timeToLive: 3_600_000,
      applicationProperties: { text: "äöü", whole: 7, part: 1.5, truth: true, nothing: null },
    };
    await send(sent);
    const { body, applicationProperties, ...received } = await one();
    assert.deepEqual(Buffer.from(body), sent.body);
    assert.deepEqual({ ...applicationProperties }, sent.applicationProperties);
    const { body: _, applicationProperties: __, ...rest } = sent;
    assert.deepEqual({ ...received, ...rest }, received);
  });

  it("1.3: the server says when a message came, its number, until when it is locked, and when it is over", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, one } = queue({ lockDurationMs: 30_000 });
    const now = Math.floor(clock.now());
    await send({ body: "a", timeToLive: 120_000 });
    const message = await one();
    assert.equal(message.enqueuedTimeUtc?.getTime(), now);
    assert.equal(message.lockedUntilUtc?.getTime(), now + 30_000);
    assert.equal(message.expiresAtUtc?.getTime(), now + 120_000);
    assert.match(message.lockToken ?? "", /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    assert.equal(message.sequenceNumber?.toNumber(), 1);
    assert.equal(message.state, "active");
  });

  it("SB-30: the first delivery counts 0", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, one } = queue();
    await send("a");
    assert.equal((await one()).deliveryCount, 0);
  });

  it("1.3: a message without an id gets one of its own", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, take } = queue();
    await send("a", "b");
    const [a, b] = await take(2);
    assert.ok(a?.messageId);
    assert.ok(b?.messageId);
    assert.notEqual(a.messageId, b.messageId);
  });

  it("SB-42: what the SDK encodes as JSON comes back as it was", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, take, open } = queue();
    const values = ["text", 7, { deep: [true, null] }];
    await send(...values.map((body) => ({ body })));
    const received = await take(3, open({ skipParsingBodyAsJson: false }));
    assert.deepEqual(
      received.map(({ body }) => body),
      values,
    );
  });

  it("1.4 (8): bodies that are AMQP values and sequences stay what they are", async (test) => {
    const { queue } = await openServicebus(test);
    const { sender, take } = queue();
    await sender().sendMessages([
      { body: { answer: 42 }, bodyType: "value" },
      { body: [[1, "two"]], bodyType: "sequence" },
    ]);
    const [value, sequence] = await take(2);
    assert.deepEqual(value?.body, { answer: 42 });
    assert.deepEqual(sequence?.body, [[1, "two"]]);
    assert.deepEqual([value?._rawAmqpMessage.bodyType, sequence?._rawAmqpMessage.bodyType], ["value", "sequence"]);
  });

  it("1.2: an array is kept in its order, and each of it is a message of its own", async (test) => {
    const { queue } = await openServicebus(test);
    const { sender, take } = queue();
    const texts = Array.from({ length: 25 }, (_, index) => `message ${index}`);
    await sender().sendMessages(texts.map((text) => ({ body: Buffer.from(text), applicationProperties: { text } })));
    const received = await take(25);
    assert.deepEqual(bodies(received), texts);
    assert.deepEqual(
      received.map(({ applicationProperties }) => applicationProperties?.["text"]),
      texts,
    );
    assert.equal(new Set(received.map(({ lockToken }) => lockToken)).size, 25);
    assert.deepEqual(
      received.map(({ sequenceNumber }) => sequenceNumber?.toNumber()),
      texts.map((_, index) => index + 1),
    );
  });

  it("1.3: a batch is full at 262,144 bytes, and what went in arrives", async (test) => {
    const { queue } = await openServicebus(test);
    const { sender, take } = queue();
    const batch = await sender().createMessageBatch();
    assert.equal(batch.maxSizeInBytes, LIMIT_BYTES);
    while (batch.tryAddMessage({ body: Buffer.alloc(20_000, "x") }));
    assert.equal(batch.count, 13);
    await sender().sendMessages(batch);
    assert.equal((await take(13)).length, 13);
  });

  it("SB-43: a message over 262,144 bytes is refused with MessageSizeExceeded, and the link stays", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, one, acts } = queue();
    await send("before");
    const attaches = servicebus.calls.of("Attach").calls;
    await assert.rejects(send({ body: Buffer.alloc(LIMIT_BYTES + 1) }), { code: "MessageSizeExceeded" });
    assert.equal(acts.messageIds().length, 1);
    await send({ body: Buffer.alloc(LIMIT_BYTES - 1_024) });
    assert.equal(servicebus.calls.of("Attach").calls, attaches);
    assert.equal(String((await one()).body), "before");
  });

  it("SB-43: an entity may take more", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, one, sender } = queue({ maxMessageBytes: 1_048_576 });
    assert.equal((await sender().createMessageBatch()).maxSizeInBytes, 1_048_576);
    await send({ body: Buffer.alloc(1_000_000, "x") });
    assert.equal((await one()).body.length, 1_000_000);
  });

  it("1.2: sending to what is not there is refused with MessagingEntityNotFound", async (test) => {
    const { client } = await openServicebus(test);
    await assert.rejects(client.createSender("nowhere").sendMessages({ body: "a" }), {
      code: "MessagingEntityNotFound",
    });
  });

  it("1.2: receiving from what is not there is refused with MessagingEntityNotFound", async (test) => {
    const { client } = await openServicebus(test);
    const missing = { code: "MessagingEntityNotFound" };
    await assert.rejects(client.createReceiver("nowhere").receiveMessages(1), missing);
    await assert.rejects(client.createReceiver("nowhere", "either").receiveMessages(1), missing);
    await assert.rejects(client.createReceiver("nowhere", { subQueueType: "deadLetter" }).receiveMessages(1), missing);
  });

  it("1.3: names are the same in capitals and small letters", async (test) => {
    const { queue, client } = await openServicebus(test);
    const { take } = queue({}, "Orders");
    await client.createSender("ORDERS").sendMessages({ body: Buffer.from("a") });
    assert.deepEqual(bodies(await take(1, client.createReceiver("orders", { skipParsingBodyAsJson: true }))), ["a"]);
  });

  it("an entity is made once, and with settings in range", async (test) => {
    const { servicebus } = await openServicebus(test);
    servicebus.createQueue("q");
    servicebus.createTopic("t");
    servicebus.createSubscription("t", "s");
    assert.throws(() => servicebus.createQueue("Q"));
    assert.throws(() => servicebus.createTopic("t"));
    assert.throws(() => servicebus.createSubscription("t", "s"));
    assert.throws(() => servicebus.createSubscription("nowhere", "s"));
    // SB-02: at most five minutes.
    assert.throws(() => servicebus.createQueue("long", { lockDurationMs: 300_001 }), RangeError);
    assert.throws(() => servicebus.createQueue("none", { maxDeliveryCount: 0 }), RangeError);
    assert.throws(() => servicebus.acts("nowhere"));
  });
});
