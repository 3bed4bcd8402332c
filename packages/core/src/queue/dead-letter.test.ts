import assert from "node:assert/strict";
import { test } from "node:test";
import { deadLetterFence, deadLetterMarks, deadLetterOf, printableReason, withoutMarks } from "./dead-letter.ts";
import type { Delivery } from "./driver.ts";

const delivery = (attributes: Readonly<Record<string, string>>): Delivery => {
  return { token: "t", messageId: "m", body: "{}", attributes, leaseMs: 1_000 };
};

test("marks are read as they were written, beside the message's own attributes", () => {
  const reason = { code: "attempts_exhausted", text: "5 of 5 attempts" };
  const attributes = { kept: "yes", ...deadLetterMarks(reason, 12, 1_024) };
  assert.deepEqual(deadLetterOf(delivery(attributes)), { delivery: delivery(attributes), reason, fence: 12 });
  assert.deepEqual(withoutMarks(attributes), { kept: "yes" });
});

test("no mark is empty", () => {
  assert.deepEqual(deadLetterMarks({ code: "", text: "\u0000" }, undefined, 1_024), { deadletterreason: "unknown" });
});

test("a message without marks is no dead letter of ours", () => {
  assert.deepEqual(deadLetterOf(delivery({ kept: "yes" })), { delivery: delivery({ kept: "yes" }) });
});

test("a fence that is no number is none", () => {
  for (const text of ["", "x", "-1", "1.5", "9".repeat(40)]) {
    assert.equal(deadLetterFence(delivery({ deadletterfence: text })), undefined, text);
  }
  assert.equal(deadLetterFence(delivery({ deadletterfence: "0" })), 0);
});

test("a reason is reduced to text that every broker takes", () => {
  const { code, text } = printableReason(
    { code: "a\nb", text: "\u001b[31mred\u0000\ud800\ufffe\uffff 👩‍👧 世" },
    1_024,
  );
  assert.equal(code, "a b");
  assert.equal(text, "[31mred  👩‍👧 世");
});

test("a reason is clipped by bytes, on a character", () => {
  const { code, text } = printableReason({ code: "c".repeat(500), text: "世".repeat(500) }, 100);
  assert.equal(Buffer.byteLength(code), 64);
  assert.ok(Buffer.byteLength(text) <= 100);
  assert.match(text, /^世+…$/);
});
