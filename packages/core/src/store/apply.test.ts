import assert from "node:assert/strict";
import { test } from "node:test";
import { isLeaseholdError } from "../errors.ts";
import { applyUpdate, evaluateCondition } from "./apply.ts";
import type { Condition, Item } from "./items.ts";

const item: Item = {
  status: "leased",
  fence: 3,
  shared: false,
  nothing: null,
  effects: { "a.b": { state: "started" } },
  list: [1],
};

const rows: readonly (readonly [boolean, Condition])[] = [
  [true, { field: "status", is: "=", value: "leased" }],
  [false, { field: "status", is: "<>", value: "leased" }],
  [true, { field: "status", is: "<>", value: "queued" }],
  [true, { field: "fence", is: "<", value: 4 }],
  [false, { field: "fence", is: "<", value: 3 }],
  [true, { field: "fence", is: "<=", value: 3 }],
  [true, { field: "fence", is: ">=", value: 3 }],
  [false, { field: "fence", is: ">", value: 3 }],
  [true, { field: "shared", is: "=", value: false }],
  [true, { exists: "nothing" }],
  [false, { absent: "nothing" }],
  [true, { absent: "other" }],
  [false, { exists: "toString" }],
  [true, { exists: ["effects", "a.b"] }],
  [false, { exists: ["effects", "a", "b"] }],
  [true, { field: ["effects", "a.b", "state"], is: "=", value: "started" }],
  [false, { exists: ["list", "0"] }],
  [false, { exists: ["status", "length"] }],
  [true, { all: [] }],
  [false, { any: [] }],
  [true, { all: [{ exists: "fence" }, { any: [{ exists: "other" }, { absent: "other" }] }] }],
];

test("conditions on an item", () => {
  for (const [expected, condition] of rows)
    assert.equal(evaluateCondition(condition, item), expected, JSON.stringify(condition));
});

test("a comparison with a missing field, or between types, is false in every direction", () => {
  for (const is of ["=", "<>", "<", "<=", ">", ">="] as const) {
    assert.equal(evaluateCondition({ field: "other", is, value: 1 }, item), false, `${is} with a missing field`);
    assert.equal(evaluateCondition({ field: "fence", is, value: "3" }, item), false, `${is} between a number and text`);
    assert.equal(evaluateCondition({ field: "nothing", is, value: 0 }, item), false, `${is} with null`);
  }
});

test("a missing item has no fields", () => {
  assert.equal(evaluateCondition({ absent: "status" }, undefined), true);
  assert.equal(evaluateCondition({ exists: "status" }, undefined), false);
  assert.equal(evaluateCondition({ field: "fence", is: "<", value: 9 }, undefined), false);
});

test("an update sets, removes and increments, and leaves the rest and the old item alone", () => {
  const before = structuredClone(item);
  const next = applyUpdate(item, {
    set: { status: "released", new: [2] },
    remove: ["nothing", "never"],
    increment: { fence: 1, count: 2 },
  });
  assert.deepEqual(next, {
    status: "released",
    fence: 4,
    shared: false,
    effects: item["effects"],
    list: [1],
    new: [2],
    count: 2,
  });
  assert.deepEqual(item, before);
});

test("an update of a missing item makes it", () => {
  assert.deepEqual(applyUpdate(undefined, { set: { a: 1 }, increment: { n: 1 } }), { a: 1, n: 1 });
});

test("an update that names a field twice, or adds to text, is refused", () => {
  const bad = [
    { set: { a: 1 }, remove: ["a"] },
    { set: { a: 1 }, increment: { a: 1 } },
    { remove: ["a"], increment: { a: 1 } },
    { increment: { status: 1 } },
  ];
  for (const update of bad)
    assert.throws(
      () => applyUpdate(item, update),
      (error) => isLeaseholdError(error, "InvalidArgument"),
      JSON.stringify(update),
    );
});
