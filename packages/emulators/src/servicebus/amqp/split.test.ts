import assert from "node:assert/strict";
import { describe, it } from "node:test";
import rhea, { type Message as AmqpMessage } from "rhea";
import { createHandClock } from "../../hand-clock.ts";
import { createInventory } from "../broker/inventory.ts";
import type { Message, Origin } from "../broker/message.ts";
import { joinMessage } from "./join.ts";
import { splitMessage, splitTransfer } from "./split.ts";

const { types, message: codec } = rhea;
const NOW = 1_700_000_000_000;
const UUID = "01020304-0506-0708-090a-0b0c0d0e0f10";

/** A message of a queue, as it is after it was sent. */
function stored(bytes: Buffer, origin: Origin = {}): Message {
  const inventory = createInventory(createHandClock(NOW), {
    requiresSession: false,
    lockDurationMs: 1_000,
    maxDeliveryCount: 10,
    timeToLiveMs: Number.POSITIVE_INFINITY,
    exhausted() {},
    expired() {},
    shown() {},
  });
  return inventory.add(splitMessage(bytes), origin);
}

const decoded = (message: Message, lockedUntil?: number) => codec.decode(joinMessage(message, lockedUntil));

/** An empty header is what rhea writes in front. */
const HEADER_BYTES = 4;
const bareOf = (sent: Buffer): Buffer => sent.subarray(HEADER_BYTES);
/** What a receiver gets, but for what the broker puts in front. */
const endOf = (message: Message): Buffer =>
  joinMessage(message, undefined).subarray(HEADER_BYTES - message.content.bytes);

/** Types that are lost when rhea reads and writes them as numbers of JavaScript. */
const TYPED = {
  long: types.wrap_long(5),
  byte: types.wrap_byte(-1),
  float: types.wrap_float(0.5),
  uuid: types.wrap_uuid(rhea.string_to_uuid(UUID)),
};

describe("messages of Service Bus on the wire", () => {
  it("keep the bytes of properties, application properties and body", () => {
    const sent = codec.encode({
      message_id: "m",
      subject: "s",
      application_properties: TYPED,
      body: types.wrap_ulong(9),
    });
    assert.deepEqual(endOf(stored(sent)), bareOf(sent));
  });

  it("keep every kind of body, and the footer", () => {
    const bodies = [
      codec.data_section(Buffer.from("data")),
      codec.data_sections([Buffer.from("a"), Buffer.from("b")]),
      codec.sequence_section([1, "two"]),
      { map: "value" },
      null,
    ];
    for (const body of bodies) {
      const sent = codec.encode({ message_id: "m", body, footer: { checksum: 1 } } as AmqpMessage);
      assert.deepEqual(endOf(stored(sent)), bareOf(sent));
    }
  });

  it("get the broker's header and annotations in front", () => {
    const sent = codec.encode({
      message_id: "m",
      durable: true,
      priority: 7,
      ttl: 60_000,
      delivery_count: 99,
      delivery_annotations: { from: "the sender" },
      body: "b",
    });
    const message = decoded(stored(sent, { deliveryCount: 3, enqueuedSequenceNumber: 40 }), NOW + 5);
    assert.deepEqual(
      [message.durable, message.priority, message.ttl, message.delivery_count, message.delivery_annotations],
      [true, 7, 60_000, 3, undefined],
    );
    assert.deepEqual(message.message_annotations, {
      "x-opt-enqueued-time": new Date(NOW),
      "x-opt-sequence-number": 1,
      "x-opt-enqueue-sequence-number": 40,
      "x-opt-message-state": 0,
      "x-opt-locked-until": new Date(NOW + 5),
    });
  });

  it("keep the sender's annotations, but for those that only the broker can say", () => {
    const annotations = {
      "x-opt-partition-key": "p",
      "x-opt-sequence-number": 7,
      "x-opt-lock-token": "t",
      own: TYPED.long,
    };
    const joined = joinMessage(stored(codec.encode({ body: "b", message_annotations: annotations })), undefined);
    const { message_annotations: seen } = codec.decode(joined);
    assert.deepEqual(
      [seen?.["x-opt-partition-key"], seen?.["x-opt-sequence-number"], seen?.["x-opt-lock-token"], seen?.["own"]],
      ["p", 1, undefined, 5],
    );
    // A long of one byte, which stays one.
    assert.ok(joined.includes(Buffer.from([0xa3, 3, ...Buffer.from("own"), 0x55, 5])));
  });

  it("say when they are to be enqueued", () => {
    const at = { "x-opt-scheduled-enqueue-time": new Date(NOW + 1) };
    assert.equal(splitMessage(codec.encode({ body: "b", message_annotations: at })).scheduledAt, NOW + 1);
    const wrong = { "x-opt-scheduled-enqueue-time": "tomorrow" };
    assert.equal(splitMessage(codec.encode({ body: "b", message_annotations: wrong })).scheduledAt, undefined);
  });

  it("have an id, which is made when the sender gave none, and everything else stays", () => {
    for (const properties of [{}, { subject: "s", group_id: "g" }, { message_id: "" }]) {
      const content = splitMessage(codec.encode({ ...properties, body: "b" }));
      assert.match(content.id, /^[0-9a-f-]{36}$/);
      const message = decoded(stored(codec.encode({ ...properties, body: "b" })));
      assert.match(String(message.message_id), /^[0-9a-f-]{36}$/);
      assert.deepEqual([message.subject, message.group_id], [properties.subject, properties.group_id]);
    }
  });

  it("have ids of every type, as text", () => {
    const idOf = (messageId: unknown): string =>
      splitMessage(codec.encode({ message_id: messageId, body: "" } as AmqpMessage)).id;
    assert.equal(idOf("text"), "text");
    assert.equal(idOf(12), "12");
    assert.equal(idOf(types.wrap_uuid(rhea.string_to_uuid(UUID))), UUID);
    assert.equal(idOf(types.wrap_binary(Buffer.from("abc"))), "616263");
  });

  it("get what settlements add, with the types that the others have", () => {
    const message = stored(codec.encode({ message_id: "m", application_properties: { a: 1, ...TYPED }, body: "b" }));
    const before = joinMessage(message, undefined);
    message.properties = { a: "new", DeadLetterReason: "reason" };
    const after = joinMessage(message, undefined);
    const { application_properties: properties } = codec.decode(after);
    assert.deepEqual(properties, {
      ...codec.decode(before).application_properties,
      a: "new",
      DeadLetterReason: "reason",
    });
    assert.ok(after.includes(Buffer.from([...Buffer.from("float"), 0x72, 0x3f, 0, 0, 0])));
    const bare = stored(codec.encode({ message_id: "m", body: "b" }));
    bare.properties = { a: 1 };
    assert.deepEqual(decoded(bare).application_properties, { a: 1 });
  });

  it("come one by one or in batches", () => {
    const one = codec.encode({ message_id: "1", body: "b" });
    const two = codec.encode({ message_id: "2", body: "b" });
    const batch = codec.encode({ message_id: "envelope", body: codec.data_sections([one, two]) });
    assert.deepEqual(
      splitTransfer(batch, 0x80013700).map(({ id, bytes }) => [id, bytes]),
      [
        ["1", one.length],
        ["2", two.length],
      ],
    );
    assert.deepEqual(
      splitTransfer(batch, null).map(({ id }) => id),
      ["envelope"],
    );
  });
});
