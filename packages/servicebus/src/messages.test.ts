import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceBusReceivedMessage } from "@azure/service-bus";
import { deadLetterOf } from "@leasehold/core/driver";
import { capabilitiesOf, createLockLength, MAX_MESSAGE_BYTES } from "./capabilities.ts";
import { refusedByServicebus } from "./checks.ts";
import { byToken, copyOf, deliveryOf, isToken, letterOf, linkOf, messageOf, redrivenOf } from "./messages.ts";

const TOKEN = "11111111-2222-3333-4444-555555555555";
const DUE = new Date(1_800_000_000_000);

/** As the SDK hands it out. */
function received(more: Partial<ServiceBusReceivedMessage> = {}): ServiceBusReceivedMessage {
  return {
    body: Buffer.from("{}"),
    messageId: "task-1",
    lockToken: TOKEN,
    state: "active",
    deliveryCount: 0,
    contentType: "application/json",
    enqueuedTimeUtc: new Date(1_700_000_000_000),
    _rawAmqpMessage: { body: undefined },
    ...more,
  };
}

const arrivalOf = (message: ServiceBusReceivedMessage) => ({ message, lockMs: 60_000, monotonic: 0 });

test("a message is sent as bytes; in an entity with sessions one without a key is its own (SB-42)", () => {
  const message = { id: "task-1", body: "é", contentType: "text/plain", attributes: { a: "1" } };
  const sent = messageOf(message, false, undefined);
  assert.deepEqual(sent, {
    body: Buffer.from("é"),
    messageId: "task-1",
    contentType: "text/plain",
    applicationProperties: { a: "1" },
  });
  assert.equal(messageOf(message, true, undefined).sessionId, "task-1");
  const keyed = messageOf({ ...message, orderingKey: "k" }, true, DUE);
  assert.deepEqual([keyed.sessionId, keyed.scheduledEnqueueTimeUtc], ["k", DUE]);
});

test("the count is normalised, and goes on in a copy (SB-30)", () => {
  const first = deliveryOf(arrivalOf(received()), false, 5);
  assert.deepEqual([first.deliveryCount, first.leaseMs, first.sentAt], [1, 5, 1_700_000_000_000]);
  const third = deliveryOf(arrivalOf(received({ deliveryCount: 2 })), false, 5);
  const copy = copyOf(third, "task-1.7", false, DUE);
  assert.deepEqual([copy.messageId, copy.scheduledEnqueueTimeUtc], ["task-1.7", DUE]);
  const again = deliveryOf(arrivalOf(received({ ...copy, deliveryCount: 0 })), false, 5);
  assert.equal(again.deliveryCount, 4);
  assert.deepEqual(again.attributes, {}, "the carried count is not for the receiver");
});

test("a copy in an entity with sessions stays in its session, or is one by itself again", () => {
  const keyed = deliveryOf(arrivalOf(received({ sessionId: "k" })), true, 5);
  assert.equal(keyed.orderingKey, "k");
  assert.equal(copyOf(keyed, "copy", true, DUE).sessionId, "k");
  const keyless = deliveryOf(arrivalOf(received({ sessionId: "task-1" })), true, 5);
  assert.equal(keyless.orderingKey, undefined);
  const copy = copyOf(keyless, "copy", true, DUE);
  assert.equal(copy.sessionId, "copy");
  assert.equal(deliveryOf(arrivalOf(received({ ...copy })), true, 5).orderingKey, undefined);
});

test("a session of an entity that requires none is no ordering key, and stays where it is", () => {
  const delivery = deliveryOf(arrivalOf(received({ sessionId: "s", partitionKey: "s" })), false, 5);
  assert.equal(delivery.orderingKey, undefined);
  const copy = copyOf(delivery, "copy", false, DUE);
  assert.deepEqual([copy.sessionId, copy.partitionKey], ["s", "s"]);
});

test("a dead letter says why as leasehold reads it, and loses that when it is redriven", () => {
  const properties = {
    DeadLetterReason: "poison",
    DeadLetterErrorDescription: "no",
    deadletterfence: "7",
    kept: "yes",
    n: 1,
  };
  const message = received({
    applicationProperties: properties,
    deadLetterReason: "poison",
    deadLetterErrorDescription: "no",
    sessionId: "k",
  });
  const letter = letterOf(arrivalOf(message), 5, 4_096);
  const { reason, fence } = deadLetterOf(letter);
  assert.deepEqual([reason, fence], [{ code: "poison", text: "no" }, 7]);
  assert.equal(letter.attributes["DeadLetterReason"], undefined);
  assert.equal(letter.orderingKey, undefined, "letters are not taken by session");
  const redriven = redrivenOf(letter, true);
  assert.deepEqual(redriven.applicationProperties, { kept: "yes", n: 1 });
  assert.equal(redriven.sessionId, "k");
  assert.notEqual(redriven.messageId, message.messageId);
});

test("a delivery can be printed and stored, and has no connection in it then", () => {
  const delivery = deliveryOf(arrivalOf(received()), false, 5);
  assert.deepEqual(JSON.parse(JSON.stringify(delivery)), {
    token: TOKEN,
    messageId: "task-1",
    body: "{}",
    contentType: "application/json",
    attributes: {},
    deliveryCount: 1,
    sentAt: 1_700_000_000_000,
    leaseMs: 5,
  });
});

test("a lock token is a GUID, and stands for a message without a link", () => {
  assert.equal(isToken(TOKEN), true);
  for (const bad of ["", "x", `${TOKEN}x`, TOKEN.slice(0, -1), "\u0000", "null"])
    assert.equal(isToken(bad), false, bad);
  assert.equal(byToken(TOKEN).lockToken, TOKEN);
  assert.equal(linkOf(byToken(TOKEN)), undefined);
  const link = (isOpen: boolean) => ({ is_open: () => isOpen });
  const on = (isOpen: boolean) => linkOf(Object.assign(received(), { delivery: { link: link(isOpen) } }) as never);
  assert.notEqual(on(true), "gone");
  assert.equal(on(false), "gone");
});

test("what Service Bus would refuse is refused before it is sent", () => {
  const settings = { maxMessageBytes: MAX_MESSAGE_BYTES, lockMs: () => 60_000 };
  const [plain, keyed] = [
    capabilitiesOf({ ...settings, sessions: false }),
    capabilitiesOf({ ...settings, sessions: true }),
  ];
  const message = { id: "task-1", body: "{}", contentType: "application/json" };
  assert.equal(refusedByServicebus(message, plain), undefined);
  assert.equal(refusedByServicebus({ ...message, orderingKey: "k" }, plain)?.code, "Unsupported");
  assert.equal(refusedByServicebus({ ...message, orderingKey: "k" }, keyed), undefined);
  assert.equal(refusedByServicebus({ ...message, orderingKey: "task-1" }, keyed)?.code, "InvalidArgument");
  const big = { ...message, attributes: { a: "x".repeat(32_768) } };
  assert.equal(refusedByServicebus(big, plain)?.code, "PayloadTooLarge");
  const many = { ...message, attributes: { a: "x".repeat(30_000), b: "x".repeat(30_000), c: "x".repeat(10_000) } };
  assert.equal(refusedByServicebus(many, plain)?.code, "PayloadTooLarge");
});

test("the length of a lock is the longest seen, and five minutes at most (SB-02)", () => {
  const lock = createLockLength(60_000);
  const { current, seen } = lock;
  assert.equal(current(), 60_000);
  for (const [ms, expected] of [
    [Number.NaN, 60_000],
    [-1, 60_000],
    [29_990, 29_990],
    [29_000, 29_990],
    [29_995, 29_995],
    [9_000_000, 300_000],
  ] as const) {
    seen(ms);
    assert.equal(current(), expected);
  }
});
