import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { describeIssues, kindOf } from "./issues.ts";

const schema = z.object({
  source: z.string(),
  items: z.array(z.object({ count: z.int().min(1) })).optional(),
  version: z.literal("1.0").optional(),
});

function describe(value: unknown, root = ""): string {
  const parsed = schema.safeParse(value);
  assert.equal(parsed.success, false);
  return describeIssues(parsed.error as z.ZodError, value, root);
}

test("names the field, the kind and what was expected", () => {
  assert.equal(describe({ source: 5 }), "source: expected text, got a number");
  assert.equal(describe({}, "input"), "input.source: expected text, got nothing");
  assert.equal(describe(null, "input"), "input: expected an object, got null");
  assert.equal(
    describe({ source: "", items: [{ count: 1 }, { count: true }] }),
    "items[1].count: expected a number, got true",
  );
  assert.equal(describe({ source: "", version: "0.3" }), 'version: expected "1.0", got text');
});

test("never shows the value", () => {
  const secret = "hunter2";
  assert.ok(!describe({ source: "", version: secret, items: [{ count: -7_777 }] }).match(/hunter2|7777/));
});

test("a long list of faults is cut", () => {
  const text = describe({ source: "", items: Array.from({ length: 9 }, () => ({})) });
  assert.match(text, /^items\[0\]\.count: .+; items\[1\]\.count: .+; items\[2\]\.count: .+; and 6 more$/);
});

test("kinds of values", () => {
  const kinds: readonly [unknown, string][] = [
    [undefined, "nothing"],
    [null, "null"],
    ["", "empty text"],
    ["x", "text"],
    [1, "a number"],
    [Number.NaN, "NaN"],
    [false, "false"],
    [[], "a list"],
    [{}, "an object"],
    [() => 1, "a function"],
    [1n, "a bigint"],
  ];
  for (const [value, kind] of kinds) assert.equal(kindOf(value), kind);
});
