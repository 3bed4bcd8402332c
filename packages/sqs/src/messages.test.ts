import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, copyOf, deliveryOf, entryOf, isIntact, isKeyless, type SqsDelivery } from "./messages.ts";

const RECEIVED = { wall: 1, monotonic: 1 };
const text = (value: string) => ({ DataType: "String", StringValue: value });
const MARKS = {
  essential: { deadletterreason: "poison", deadletterfence: "7" },
  all: { deadletterreason: "poison", deadletterfence: "7", deadletterdescription: "cannot be handled" },
};

test("a standard queue gets a delay in whole seconds, never less than asked for, and no ids", () => {
  const message = { id: "one", body: "{}", contentType: "application/json", attributes: { kept: "yes" } };
  assert.deepEqual(entryOf({ ...message, delayMs: 1_001 }, false), {
    MessageBody: "{}",
    MessageAttributes: { "content-type": text("application/json"), kept: text("yes") },
    DelaySeconds: 2,
  });
});

test("a FIFO queue gets the id for its duplicate detection, and a group: the key, or one of the message's own", () => {
  const message = { id: "one", body: "{}", contentType: "application/json" };
  const keyed = entryOf({ ...message, orderingKey: "customer-7" }, true);
  assert.equal(keyed.MessageDeduplicationId, "one");
  assert.equal(keyed.MessageGroupId, "customer-7");
  assert.equal(keyed.DelaySeconds, undefined);
  const [first, second] = ["one", "x".repeat(128)].map((id) => entryOf({ ...message, id }, true).MessageGroupId ?? "");
  assert.ok(first !== undefined && second !== undefined && first !== second);
  for (const group of [first, second]) {
    assert.ok(isKeyless(group));
    assert.match(group, /^[\x21-\x7e]{1,128}$/);
    const message = { ReceiptHandle: "h", MessageId: "m", Body: "{}", Attributes: { MessageGroupId: group } };
    assert.equal(deliveryOf(message, 1_000, true, RECEIVED).orderingKey, undefined);
  }
});

test("a group id is an ordering key on a FIFO queue alone (SQS-80)", () => {
  const message = { ReceiptHandle: "h", MessageId: "m", Body: "{}", Attributes: { MessageGroupId: "tenant" } };
  assert.equal(deliveryOf(message, 1_000, true, RECEIVED).orderingKey, "tenant");
  assert.equal(deliveryOf(message, 1_000, false, RECEIVED).orderingKey, undefined);
});

test("a delivery has what SQS says, numbers as numbers, and text attributes alone", () => {
  const delivery = deliveryOf(
    {
      ReceiptHandle: "handle",
      MessageId: "id",
      Body: "{}",
      Attributes: { ApproximateReceiveCount: "3", SentTimestamp: "1700000000000" },
      MessageAttributes: {
        "Content-Type": text("application/json"),
        price: { DataType: "Number", StringValue: "1.5" },
        blob: { DataType: "Binary", BinaryValue: new Uint8Array([1, 2]) },
      },
    },
    30_000,
    false,
    RECEIVED,
  );
  assert.equal(delivery.token, "handle");
  assert.equal(delivery.messageId, "id");
  assert.equal(delivery.contentType, "application/json");
  assert.deepEqual(delivery.attributes, { price: "1.5" });
  assert.equal(delivery.deliveryCount, 3);
  assert.equal(delivery.sentAt, 1_700_000_000_000);
  assert.equal(delivery.leaseMs, 30_000);
});

test("what a server leaves out is left out, and is no zero and no NaN", () => {
  const delivery = deliveryOf({ ReceiptHandle: "h", MessageId: "m", Body: "{}" }, 1_000, true, RECEIVED);
  for (const name of ["contentType", "deliveryCount", "sentAt", "orderingKey"])
    assert.equal(name in delivery, false, name);
  assert.deepEqual(delivery.attributes, {});
});

test("a copy keeps every attribute as it came, and carries the marks", () => {
  const blob = { DataType: "Binary", BinaryValue: new Uint8Array([1, 2]) };
  const delivery: SqsDelivery = {
    ...deliveryOf(
      { ReceiptHandle: "h", MessageId: "m", Body: "{}", MessageAttributes: { "content-type": text("a/b"), blob } },
      1_000,
      false,
      RECEIVED,
    ),
  };
  const copy = copyOf(delivery, "copy", false, MARKS);
  assert.equal(copy.MessageBody, "{}");
  assert.deepEqual(copy.MessageAttributes, {
    "content-type": text("a/b"),
    blob,
    deadletterreason: text("poison"),
    deadletterfence: text("7"),
    deadletterdescription: text("cannot be handled"),
  });
  assert.equal(copy.MessageDeduplicationId, undefined);
});

test("of ten attributes and the marks, the text of the reason stays behind first, then what the sender put in last", () => {
  const names = Array.from({ length: 10 }, (_, index) => `own${index}`);
  const copyWith = (count: number) => {
    const MessageAttributes = Object.fromEntries(names.slice(0, count).map((name) => [name, text("1")]));
    const message = { ReceiptHandle: "h", MessageId: "m", Body: "{}", MessageAttributes };
    return Object.keys(
      copyOf(deliveryOf(message, 1_000, false, RECEIVED), "copy", false, MARKS).MessageAttributes ?? {},
    );
  };
  assert.deepEqual(copyWith(8), ["deadletterreason", "deadletterfence", ...names.slice(0, 8)]);
  assert.deepEqual(copyWith(10), ["deadletterreason", "deadletterfence", ...names.slice(0, 8)]);
  assert.equal(copyWith(7).at(-1), "deadletterdescription");
});

test("a message that was dead-lettered before has the marks of the last time alone", () => {
  const MessageAttributes = { deadletterreason: text("old"), deadletterdescription: text("old"), kept: text("yes") };
  const delivery = deliveryOf(
    { ReceiptHandle: "h", MessageId: "m", Body: "{}", MessageAttributes },
    1_000,
    false,
    RECEIVED,
  );
  const marks = { essential: { deadletterreason: "new" }, all: { deadletterreason: "new" } };
  assert.deepEqual(copyOf(delivery, "copy", false, marks).MessageAttributes, {
    deadletterreason: text("new"),
    kept: text("yes"),
  });
  assert.deepEqual(copyOf(delivery, "copy", false, { essential: {}, all: {} }).MessageAttributes, {
    kept: text("yes"),
  });
});

test("a copy on a FIFO queue has its own deduplication id and the group of the message", () => {
  const message = { ReceiptHandle: "h", MessageId: "m", Body: "{}", Attributes: { MessageGroupId: "customer-7" } };
  const copy = copyOf(deliveryOf(message, 1_000, true, RECEIVED), "task.m", true, MARKS);
  assert.equal(copy.MessageDeduplicationId, "task.m");
  assert.equal(copy.MessageGroupId, "customer-7");
});

test("a delivery that came by another way, such as a function's event, can be copied too", () => {
  const delivery = { token: "h", messageId: "m", body: "{}", attributes: { kept: "yes" }, leaseMs: 1_000 };
  assert.deepEqual(copyOf(delivery, "copy", false, { essential: {}, all: {} }).MessageAttributes, {
    "content-type": text("application/cloudevents+json"),
    kept: text("yes"),
  });
});

test("the size of a message is in bytes, with name, type and value of each attribute (SQS-43)", () => {
  assert.equal(bytesOf({ MessageBody: "é" }), 2);
  assert.equal(bytesOf({ MessageBody: "x", MessageAttributes: { é: text("ß") } }), 1 + 2 + 6 + 2);
  const blob = { DataType: "Binary", BinaryValue: new Uint8Array(5) };
  assert.equal(bytesOf({ MessageBody: "x", MessageAttributes: { b: blob } }), 1 + 1 + 6 + 5);
});

test("a body is compared with its MD5", () => {
  assert.equal(isIntact({ Body: "hello", MD5OfBody: "5d41402abc4b2a76b9719d911017c592" }), true);
  assert.equal(isIntact({ Body: "hellO", MD5OfBody: "5d41402abc4b2a76b9719d911017c592" }), false);
  assert.equal(isIntact({ Body: "hello" }), true);
});
