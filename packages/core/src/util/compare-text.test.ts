import assert from "node:assert/strict";
import { test } from "node:test";
import { compareText } from "./compare-text.ts";

test("text is ordered as its UTF-8 bytes are", () => {
  const texts = [
    "",
    "a",
    "A",
    "ab",
    "b",
    "é",
    "\u0080",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\u{10000}",
    "\u{10ffff}",
    "a\u{10000}",
    "a\ufffd",
  ];
  for (const left of texts) {
    for (const right of texts) {
      const expected = Math.sign(Buffer.compare(Buffer.from(left, "utf8"), Buffer.from(right, "utf8")));
      assert.equal(
        Math.sign(compareText(left, right)),
        expected,
        `${JSON.stringify(left)} and ${JSON.stringify(right)}`,
      );
    }
  }
});
