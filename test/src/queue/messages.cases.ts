import assert from "node:assert/strict";
import { encodeEnvelope } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { QueueHarness } from "./harness.ts";
import {
  complete,
  drain,
  expectNothing,
  message,
  pass,
  receive,
  receiveOne,
  refusalOf,
  send,
  unlessAble,
} from "./support.ts";

/** Inputs that some broker or encoding is known to change. */
const AWKWARD_INPUTS: Readonly<Record<string, unknown>> = {
  unicode: "héllo, 世界, 👩‍👩‍👧, \u202Eright to left",
  composed: ["\u00e9", "e\u0301"],
  controls: `${Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join("")}\u007f\u0085\u2028\u2029`,
  nonCharacters: "\ufffe\uffff\ufdd0",
  loneSurrogates: ["\ud800", "\udfff", "\udc00\ud800"],
  byteOrderMark: "\ufeffx",
  markup: "<a href='x'>&amp;]]></a>",
  quotes: "\"\\/'`$ {x}",
  emptyObject: {},
  emptyText: "",
  null: null,
  number: 1.0000000000000002e-7,
  protoMember: JSON.parse('{"__proto__":{"a":1},"constructor":2}'),
  numericKeys: { 10: "b", 9: "a", x: "c" },
};

export const messages: Suite<QueueHarness> = {
  subject: "messages",
  cases: [
    {
      name: "an event with an awkward input arrives as it was sent",
      async run(harness) {
        const { driver } = await harness.open();
        for (const [name, data] of Object.entries(AWKWARD_INPUTS)) {
          const body = encodeEnvelope({ id: name, source: "conformance", type: "awkward", data });
          await send(driver, message(name, { body, contentType: "application/cloudevents+json" }));
          const delivery = await receiveOne(harness, driver);
          assert.equal(delivery.body, body, name);
          assert.deepEqual((JSON.parse(delivery.body) as { data: unknown }).data, data, name);
          assert.equal(delivery.contentType, "application/cloudevents+json");
          await complete(driver, delivery);
        }
      },
    },
    {
      name: "a body of a foreign producer arrives as it was sent, JSON or not",
      async run(harness) {
        const { driver } = await harness.open();
        for (const [index, body] of ["{}", "[]", "not JSON", " \t\n{ } ", "\u00a0ünï\u{1f600}"].entries()) {
          await send(driver, message(`foreign-${index}`, { body, contentType: "text/plain" }));
          const delivery = await receiveOne(harness, driver);
          assert.equal(delivery.body, body);
          await complete(driver, delivery);
        }
      },
    },
    {
      name: "attributes and the number of the delivery arrive",
      async run(harness) {
        const { driver } = await harness.open();
        const attributes = { "agent-run": "run 7, ünï", single: "1" };
        await send(driver, message("one", { attributes }));
        const delivery = await receiveOne(harness, driver);
        for (const [name, value] of Object.entries(attributes)) assert.equal(delivery.attributes[name], value);
        assert.ok(
          delivery.deliveryCount === undefined || delivery.deliveryCount === 1,
          "the first delivery is number 1",
        );
        assert.notEqual(delivery.messageId, "");
        assert.equal(delivery.orderingKey, undefined);
      },
    },
    {
      name: "the broker's time of sending stays the same when a message is delivered again",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const first = await receiveOne(harness, driver);
        await pass(harness, first.leaseMs);
        await send(driver, message("two"));
        const [again, later] = (await receive(harness, driver, { count: 2 })).sort((left, right) =>
          left.body < right.body ? -1 : 1,
        );
        assert.equal(again?.sentAt, first.sentAt);
        if (first.sentAt !== undefined && later?.sentAt !== undefined) assert.ok(later.sentAt > first.sentAt);
      },
    },
    {
      name: "a body at the limit is taken, one byte more is refused",
      async run(harness) {
        const { driver } = await harness.open();
        const room = driver.capabilities.maxMessageBytes - harness.overheadBytes;
        // Two bytes a character, so that characters and bytes are not the same count.
        const fits = `${"é".repeat(Math.floor(room / 2))}${"x".repeat(room % 2)}`;
        await send(driver, message("fits", { body: fits }));
        const delivery = await receiveOne(harness, driver);
        assert.ok(delivery.body === fits, "the body arrives whole");
        await complete(driver, delivery);
        const over = `${"é".repeat(Math.floor(driver.capabilities.maxMessageBytes / 2))}xx`;
        assert.equal(await refusalOf(driver.send([message("over", { body: over })])), "PayloadTooLarge");
        await expectNothing(harness, driver);
      },
    },
    {
      name: "one bad message of a batch is refused alone",
      async run(harness) {
        const { driver } = await harness.open();
        const over = message("over", { body: "x".repeat(driver.capabilities.maxMessageBytes + 1) });
        const outcomes = await driver.send([message("first"), over, message("last")]);
        assert.deepEqual(
          outcomes.map((outcome) => outcome.status),
          ["confirmed", "failed", "confirmed"],
        );
        assert.equal(outcomes[1]?.status === "failed" && outcomes[1].code, "PayloadTooLarge");
        const bodies = (await receive(harness, driver, { count: 2 })).map((delivery) => delivery.body);
        assert.deepEqual(bodies.sort(), [message("first").body, message("last").body]);
      },
    },
    {
      name: "every message of a full batch is delivered, and a longer batch is refused as a whole",
      async run(harness) {
        const { driver } = await harness.open();
        const { maxBatch } = driver.capabilities;
        const batch = Array.from({ length: Math.min(maxBatch, 25) }, (_, index) => message(`m-${index}`));
        await send(driver, ...batch);
        const deliveries = await receive(harness, driver, { count: batch.length });
        assert.deepEqual(deliveries.map((one) => one.body).sort(), batch.map((one) => one.body).sort());
        for (const delivery of deliveries) await complete(driver, delivery);
        const tooMany = Array.from({ length: maxBatch + 1 }, (_, index) => message(`m-${index}`));
        await assert.rejects(driver.send(tooMany), { code: "InvalidArgument" });
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "an empty batch is answered with nothing",
      async run(harness) {
        const { driver } = await harness.open();
        assert.deepEqual(await driver.send([]), []);
        assert.deepEqual(await driver.extend([]), []);
        assert.deepEqual(await driver.settle([]), []);
      },
    },
    {
      name: "a message that no broker would take is refused, and the refusal names the field",
      async run(harness) {
        const { driver } = await harness.open();
        const refused = [
          message("", {}),
          message("x".repeat(129)),
          message("white space"),
          message("ünï"),
          message("body", { body: "" }),
          message("attribute", { attributes: { name: "" } }),
          message("attributes", {
            attributes: Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`a${index}`, "1"])),
          }),
          message("delay", { delayMs: -1 }),
          message("delay", { delayMs: Number.NaN }),
        ];
        for (const one of refused) {
          const [outcome] = await driver.send([one]);
          assert.equal(outcome?.status === "failed" && outcome.code, "InvalidArgument", JSON.stringify(one));
          assert.match(outcome?.status === "failed" ? outcome.error.message : "", /^(id|body|attributes|delayMs)/);
        }
        await expectNothing(harness, driver);
      },
    },
    {
      name: "a delayed message is not seen before its time, and a delay that is not declared is refused",
      async run(harness) {
        const { driver } = await harness.open();
        const { maxSendDelayMs } = driver.capabilities;
        const tooLong = await refusalOf(driver.send([message("long", { delayMs: maxSendDelayMs + 1_000 })]));
        assert.equal(tooLong, maxSendDelayMs === 0 ? "Unsupported" : "InvalidArgument");
        if (maxSendDelayMs > 0) {
          const delayMs = Math.min(harness.minLeaseMs, maxSendDelayMs);
          await send(driver, message("late", { delayMs }), message("now"));
          const now = await receiveOne(harness, driver);
          assert.equal(now.body, message("now").body);
          await complete(driver, now);
          await expectNothing(harness, driver, delayMs / 2);
          await pass(harness, delayMs / 2);
          assert.equal((await receiveOne(harness, driver)).body, message("late").body);
        }
      },
    },
    {
      name: "a repeated id is swallowed within the window, also after its message is gone, and only there",
      needs: ["time"],
      unless: unlessAble("duplicate detection"),
      async run(harness) {
        const duplicateWindowMs = 300_000;
        const { driver } = await harness.open({ duplicateWindowMs });
        await send(driver, message("same"), message("same"));
        await complete(driver, await receiveOne(harness, driver));
        await send(driver, message("same"), message("other"));
        const other = await receiveOne(harness, driver);
        assert.equal(other.body, message("other").body);
        await complete(driver, other);
        await expectNothing(harness, driver);
        await harness.wait(duplicateWindowMs);
        await send(driver, message("same"));
        await receiveOne(harness, driver);
      },
    },
    {
      name: "two messages of one id are two messages without duplicate detection",
      unless: unlessAble("repeated ids"),
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("same"), message("same"));
        const [first, second] = await receive(harness, driver, { count: 2 });
        assert.notEqual(first?.token, second?.token);
        assert.notEqual(first?.messageId, second?.messageId, "one message came twice");
      },
    },
    {
      name: "the count of visible messages follows what is sent, leased and completed",
      unless: unlessAble("count"),
      async run(harness) {
        const { driver } = await harness.open();
        const count = async (): Promise<number | undefined> => driver.countVisible?.();
        assert.equal(await count(), 0);
        await send(driver, message("one"), message("two"));
        assert.equal(await count(), 2);
        const delivery = await receiveOne(harness, driver);
        assert.equal(await count(), 1);
        await complete(driver, delivery);
        assert.equal(await count(), 1);
      },
    },
  ],
};
