import assert from "node:assert/strict";
import { test } from "node:test";
import { protos } from "@google-cloud/pubsub";
import { bytesOf, deliveryOf, entryOf, letterOf, type PublishEntry, redrivenOf, sourceOf } from "./messages.ts";

const MARKS = {
  essential: { deadletterreason: "poison", deadletterfence: "7" },
  all: { deadletterreason: "poison", deadletterfence: "7", deadletterdescription: "cannot be handled" },
};
const SOURCE = { project: "my-project", subscription: "orders" };
const OF_DRIVER = {
  CloudPubSubDeadLetterSourceSubscription: "orders",
  CloudPubSubDeadLetterSourceSubscriptionProject: "my-project",
};

const received = (message: protos.google.pubsub.v1.IPubsubMessage, deliveryAttempt = 0) => {
  return { ackId: "token", message: { messageId: "7", ...message }, deliveryAttempt };
};

test("a message is sent as UTF-8, with its content type as an attribute and its key", () => {
  const message = { id: "one", body: "é", contentType: "application/json", attributes: { kept: "yes" } };
  assert.deepEqual(entryOf(message), {
    data: Buffer.from([0xc3, 0xa9]),
    attributes: { kept: "yes", "content-type": "application/json" },
  });
  assert.equal(entryOf({ ...message, orderingKey: "customer-7" }).orderingKey, "customer-7");
});

test("a delivery has what Pub/Sub says", () => {
  const delivery = deliveryOf(
    received(
      {
        data: Buffer.from("{}"),
        attributes: { "Content-Type": "application/json", price: "1.5" },
        publishTime: { seconds: "1700000000", nanos: 5_999_999 },
        orderingKey: "customer-7",
      },
      3,
    ),
    30_000,
    true,
  );
  assert.deepEqual(delivery, {
    token: "token",
    messageId: "7",
    body: "{}",
    contentType: "application/json",
    attributes: { price: "1.5" },
    deliveryCount: 3,
    sentAt: 1_700_000_000_005,
    orderingKey: "customer-7",
    leaseMs: 30_000,
  });
});

test("what the service leaves out is left out, and is no zero and no empty text (PS-40)", () => {
  const delivery = deliveryOf(received({ data: Buffer.from("{}"), orderingKey: "", attributes: {} }), 1_000, true);
  assert.deepEqual(delivery, { token: "token", messageId: "7", body: "{}", attributes: {}, leaseMs: 1_000 });
  assert.deepEqual(deliveryOf({}, 1_000, true), { token: "", messageId: "", body: "", attributes: {}, leaseMs: 1_000 });
});

test("a key on a subscription without order is none, and copies keep it", () => {
  const delivery = deliveryOf(received({ data: Buffer.from("{}"), orderingKey: "tenant" }), 1_000, false);
  assert.equal(delivery.orderingKey, undefined);
  assert.equal(letterOf(delivery, SOURCE, MARKS).orderingKey, "tenant");
  assert.equal(redrivenOf(delivery).orderingKey, "tenant");
});

test("a body that is no UTF-8 is handed out as text, and copied as it came", () => {
  const data = Buffer.from([0x7b, 0xff, 0x7d]);
  const delivery = deliveryOf(received({ data }), 1_000, false);
  assert.equal(delivery.body, "{\ufffd}");
  assert.deepEqual(letterOf(delivery, SOURCE, MARKS).data, data);
});

test("a letter keeps every attribute, carries the marks, and says where it came from", () => {
  const attributes = { "content-type": "a/b", kept: "yes" };
  const letter = letterOf(deliveryOf(received({ data: Buffer.from("{}"), attributes }), 1_000, false), SOURCE, MARKS);
  assert.equal(String(letter.data), "{}");
  assert.deepEqual(letter.attributes, { ...attributes, ...MARKS.all, ...OF_DRIVER });
});

test("a letter that is sent back is as it was, whoever made it one", () => {
  const own = { "content-type": "a/b", kept: "yes" };
  const marks = { ...MARKS.all, ...OF_DRIVER, CloudPubSubDeadLetterSourceDeliveryCount: "5" };
  const letter = deliveryOf(received({ data: Buffer.from("{}"), attributes: { ...own, ...marks } }), 1_000, false);
  assert.deepEqual(redrivenOf(letter).attributes, own);
  assert.deepEqual(sourceOf(letter), SOURCE);
  assert.equal(sourceOf(deliveryOf(received({ attributes: own }), 1_000, false)), undefined);
});

test("a message that was dead-lettered before has the marks of the last time alone", () => {
  const before = {
    deadletterreason: "old",
    deadletterdescription: "old",
    CloudPubSubDeadLetterSourceSubscription: "b",
  };
  const delivery = deliveryOf(received({ attributes: { ...before, kept: "yes" } }), 1_000, false);
  const marks = { essential: { deadletterreason: "new" }, all: { deadletterreason: "new" } };
  assert.deepEqual(letterOf(delivery, SOURCE, marks).attributes, {
    deadletterreason: "new",
    ...OF_DRIVER,
    kept: "yes",
  });
});

test("of a hundred attributes and the marks, the text of the reason stays behind first, then what the sender put in last", () => {
  const names = Array.from({ length: 100 }, (_, index) => `own${index}`);
  const copyWith = (count: number): string[] => {
    const attributes = Object.fromEntries(names.slice(0, count).map((name) => [name, "1"]));
    return Object.keys(letterOf(deliveryOf(received({ attributes }), 1_000, false), SOURCE, MARKS).attributes);
  };
  const essential = ["deadletterreason", "deadletterfence", ...Object.keys(OF_DRIVER)];
  assert.deepEqual(copyWith(96), [...essential, ...names.slice(0, 96)]);
  assert.deepEqual(copyWith(100), [...essential, ...names.slice(0, 96)]);
  assert.equal(copyWith(95).at(-1), "deadletterdescription");
});

test("a letter keeps its content type however many attributes there are: without it nobody could read it once it is sent back", () => {
  const attributes = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`own${index}`, "1"]));
  const message = { attributes: { ...attributes, "content-type": "a/b" } };
  const letter = letterOf(deliveryOf(received(message), 1_000, false), SOURCE, MARKS);
  assert.equal(letter.attributes["content-type"], "a/b");
});

test("a delivery that came by another way, such as a push, can be copied too", () => {
  const delivery = {
    token: "t",
    messageId: "m",
    body: "{}",
    contentType: "a/b",
    attributes: { kept: "yes" },
    leaseMs: 1,
  };
  assert.deepEqual(redrivenOf(delivery), {
    data: Buffer.from("{}"),
    attributes: { kept: "yes", "content-type": "a/b" },
  });
});

test("the size of a message is what the wire has (PS-50)", () => {
  const entries: readonly PublishEntry[] = [
    { data: Buffer.from("é"), attributes: {} },
    { data: Buffer.alloc(127), attributes: { é: "ß" } },
    { data: Buffer.alloc(128), attributes: { a: "x".repeat(200), b: "" }, orderingKey: "key" },
    { data: Buffer.alloc(20_000), attributes: { a: "x".repeat(1_024) } },
  ];
  for (const entry of entries) {
    const { length } = protos.google.pubsub.v1.PublishRequest.encode({ messages: [entry] }).finish();
    const counted = bytesOf(entry);
    assert.ok(counted >= length && counted <= length + 4, `counted ${counted} bytes of ${length}`);
  }
});
