import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "@leasehold/core/driver";
import { fromAttributes, toAttributes } from "./attributes.ts";

test("an item comes back as it went", () => {
  const item: Item = {
    text: "",
    large: 2 ** 60,
    small: -0.1,
    yes: true,
    nothing: null,
    list: [1, "two", [], {}],
    map: { constructor: "a word like any other", nested: { state: "verified" } },
  };
  const attributes = toAttributes("task#1", item);
  assert.deepEqual(attributes["pk"], { S: "task#1" });
  assert.deepEqual(attributes["large"], { N: "1152921504606847000" });
  assert.deepEqual(fromAttributes(attributes), item);
});

test("half a surrogate pair becomes the replacement character, as no database keeps it", () => {
  assert.deepEqual(toAttributes("k", { text: "a\ud800" })["text"], { S: "a\ufffd" });
});

test("what no database keeps is refused by the name of its field", () => {
  assert.throws(() => toAttributes("k", { progress: { done: Number.NaN } }), {
    code: "InvalidArgument",
    message: /progress\.done/,
  });
  assert.throws(() => toAttributes("k", { when: new Map() as unknown as string }), {
    code: "InvalidArgument",
    message: /when/,
  });
});

test("a field named as the key is refused", () => {
  assert.throws(() => toAttributes("k", { pk: "x" }), { code: "InvalidArgument", message: /field pk/ });
});

test("sets and bytes, which are never written here, are named when they are read", () => {
  assert.throws(() => fromAttributes({ tags: { SS: ["a"] } }), { code: "Unknown", message: /field tags: .*type SS/ });
});
