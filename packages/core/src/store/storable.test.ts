import assert from "node:assert/strict";
import { test } from "node:test";
import { isLeaseholdError } from "../errors.ts";
import { storable } from "./storable.ts";

test("a value is copied, without what is undefined", () => {
  const value = { a: 1, gone: undefined, nested: { list: [1, "x", null, { b: undefined, c: false }] } };
  const copy = storable(value, "state");
  assert.deepEqual(copy, { a: 1, nested: { list: [1, "x", null, { c: false }] } });
  assert.ok(!Object.hasOwn(copy as object, "gone"));
  value.nested.list.push(2);
  assert.deepEqual(copy, { a: 1, nested: { list: [1, "x", null, { c: false }] } });
});

test("a lone surrogate becomes U+FFFD, as in every database", () => {
  assert.equal(storable("a\ud800b", "text"), "a\ufffdb");
  assert.equal(storable("😀", "text"), "😀");
});

test("what is no JSON value is refused with its path", () => {
  const rows: readonly (readonly [unknown, RegExp])[] = [
    [{ progress: { done: Number.NaN } }, /^state\.progress\.done: got NaN, expected a finite number/],
    [{ claims: [{ at: Number.POSITIVE_INFINITY }] }, /^state\.claims\[0\]\.at: got Infinity/],
    [{ list: [undefined] }, /^state\.list\[0\]: got nothing, expected a JSON value/],
    [{ when: new Date(0) }, /^state\.when: got an instance of a class/],
    [{ map: new Map() }, /^state\.map: got an instance of a class/],
    [{ count: 10n }, /^state\.count: got a bigint/],
    [() => 1, /^state: got a function/],
  ];
  for (const [value, message] of rows) {
    assert.throws(
      () => storable(value, "state"),
      (error) => isLeaseholdError(error, "InvalidArgument") && message.test(error.message),
      String(message),
    );
  }
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  assert.throws(
    () => storable(cycle, "state"),
    (error) => isLeaseholdError(error, "InvalidArgument") && /levels/.test(error.message),
  );
});
