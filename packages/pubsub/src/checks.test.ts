import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutgoingMessage } from "@leasehold/core/driver";
import { capabilitiesOf } from "./capabilities.ts";
import { refusedByPubsub } from "./checks.ts";
import { bytesOf, entryOf } from "./messages.ts";

const capabilities = capabilitiesOf({ exactlyOnce: false, ordering: true, deadLetterTopic: undefined });

function refusalOf(more: Partial<OutgoingMessage>): string | undefined {
  const message = { id: "one", body: "{}", contentType: "application/json", ...more };
  const error = refusedByPubsub({ message, entry: entryOf(message) }, capabilities);
  return error && `${error.code} ${error.message.split(":")[0]}`;
}

test("what Pub/Sub would refuse for a whole request is refused for the one message (PS-50)", () => {
  assert.equal(refusalOf({}), undefined);
  assert.equal(refusalOf({ attributes: { ["n".repeat(256)]: "v".repeat(1_024) } }), undefined);
  assert.equal(refusalOf({ attributes: { ["n".repeat(257)]: "v" } }), `InvalidArgument attributes.${"n".repeat(40)}`);
  assert.equal(refusalOf({ attributes: { "": "v" } }), "InvalidArgument attributes.");
  assert.equal(refusalOf({ attributes: { name: "é".repeat(513) } }), "InvalidArgument attributes.name");
  assert.equal(refusalOf({ attributes: { google: "v" } }), "InvalidArgument attributes.google");
  assert.equal(refusalOf({ contentType: "x".repeat(1_025) }), "InvalidArgument attributes.content-type");
  assert.equal(refusalOf({ body: "\ud800" }), "InvalidArgument body");
  assert.equal(refusalOf({ attributes: { name: "\udfff" } }), "InvalidArgument attributes.name");
});

test("what core's count lets pass fits into a request, and what it does not count is counted here", () => {
  const attributes = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`name-${index}`, "v".repeat(1_000)]));
  const counted = 9 * (6 + 1_000);
  const largest = {
    body: "x".repeat(capabilities.maxMessageBytes - counted),
    attributes,
    orderingKey: "k".repeat(128),
  };
  assert.equal(refusalOf(largest), undefined);
  assert.ok(bytesOf(entryOf({ id: "one", contentType: "application/json", ...largest })) < 10_000_000);
  assert.equal(refusalOf({ ...largest, contentType: "x".repeat(1_000) }), "PayloadTooLarge the message");
});
