import assert from "node:assert/strict";
import { test } from "node:test";
import { protos } from "@google-cloud/pubsub";
import { isLeaseholdError } from "@leasehold/core/driver";
import fc from "fast-check";
import { secondsUp } from "./capabilities.ts";
import { fromPubsub, outcomeOf, outcomeOfVerdict, verdictsOf } from "./errors.ts";
import { bytesOf, deliveryOf, redrivenOf } from "./messages.ts";

const runs = { numRuns: 500, seed: 1 };
const anything = fc.anything({ withNullPrototype: true, withDate: true, withBigInt: true });
const attributes = fc.dictionary(fc.string({ unit: "binary", minLength: 1 }), fc.string({ unit: "binary" }), {
  noNullPrototype: true,
});
const bytes = fc.uint8Array({ maxLength: 300 });

test("seconds never grant less than was asked for", () => {
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: 600_000, noNaN: true }), (ms) => {
      const grantedMs = secondsUp(ms) * 1_000;
      assert.ok(grantedMs >= ms && grantedMs <= ms + 1_000 && grantedMs <= 600_000);
    }),
    runs,
  );
});

test("the bytes of a message are never counted as fewer than the wire has", () => {
  fc.assert(
    fc.property(bytes, attributes, fc.string({ unit: "binary" }), (data, values, orderingKey) => {
      const entry = { data, attributes: values, orderingKey };
      const { length } = protos.google.pubsub.v1.PublishRequest.encode({ messages: [entry] }).finish();
      assert.ok(bytesOf(entry) >= length);
      assert.ok(bytesOf(entry) <= length + 8);
    }),
    runs,
  );
});

test("whatever a message is, a copy of its delivery has the same bytes", () => {
  fc.assert(
    fc.property(bytes, (data) => {
      const delivery = deliveryOf({ ackId: "a", message: { data, messageId: "1" } }, 1_000, false);
      assert.deepEqual(Buffer.from(redrivenOf(delivery).data), Buffer.from(data));
    }),
    runs,
  );
});

test("whatever the client throws is one error of leasehold, and an outcome", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom("PERMANENT_FAILURE_INVALID_ACK_ID", "TRANSIENT_FAILURE_OTHER"));
  const map = fc.oneof(fc.dictionary(fc.string(), fc.oneof(text, anything)), anything);
  const known = fc.record(
    {
      message: fc.oneof(text, anything),
      code: fc.oneof(fc.integer({ min: -1, max: 20 }), anything),
      errorInfoMetadata: map,
      statusDetails: fc.oneof(fc.array(fc.oneof(fc.record({ metadata: map }), anything)), anything),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(known, anything), (thrown) => {
      const error = fromPubsub(thrown, "acknowledging", "pubsub.subscriptions.consume");
      assert.ok(isLeaseholdError(error));
      assert.ok(error.message.startsWith("acknowledging"));
      assert.ok(["unconfirmed", "failed"].includes(outcomeOf(error).status));
      for (const verdict of verdictsOf(thrown).values()) {
        assert.ok(["lost", "failed"].includes(outcomeOfVerdict(verdict, error).status));
      }
    }),
    runs,
  );
});
