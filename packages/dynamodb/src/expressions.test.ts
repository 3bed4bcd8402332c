import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition, ItemUpdate } from "@leasehold/core/driver";
import { conditionExpression, createPlaceholders, updateExpression } from "./expressions.ts";

function conditionOf(condition: Condition) {
  const placeholders = createPlaceholders();
  return { text: conditionExpression(condition, placeholders), ...placeholders.parameters() };
}

function updateOf(update: ItemUpdate) {
  const placeholders = createPlaceholders();
  return { text: updateExpression(update, placeholders), ...placeholders.parameters() };
}

test("a holder's condition has a placeholder for every name and value", () => {
  const condition: Condition = {
    all: [
      { field: "status", is: "=", value: "leased" },
      { field: "lease_seq", is: "<", value: 3 },
    ],
  };
  assert.deepEqual(conditionOf(condition), {
    text: "#n0 = :v0 AND #n1 < :v1",
    ExpressionAttributeNames: { "#n0": "status", "#n1": "lease_seq" },
    ExpressionAttributeValues: { ":v0": { S: "leased" }, ":v1": { N: "3" } },
  });
});

test("a path has a placeholder for each part, so that a dot in an effect's name parts nothing", () => {
  assert.deepEqual(conditionOf({ absent: ["effects", "publish:a.b", "state"] }), {
    text: "attribute_not_exists(#n0.#n1.#n2)",
    ExpressionAttributeNames: { "#n0": "effects", "#n1": "publish:a.b", "#n2": "state" },
  });
});

test("a name that comes twice has one placeholder", () => {
  const { text, ExpressionAttributeNames } = conditionOf({
    any: [{ absent: "not_before" }, { field: "not_before", is: "<=", value: "2026" }],
  });
  assert.equal(text, "attribute_not_exists(#n0) OR #n0 <= :v0");
  assert.deepEqual(ExpressionAttributeNames, { "#n0": "not_before" });
});

test("an OR within an AND is in parentheses, nothing else is", () => {
  const one: Condition = { exists: "a" };
  const two: Condition = { any: [{ exists: "b" }, { all: [{ exists: "c" }, { exists: "d" }] }] };
  assert.equal(
    conditionOf({ all: [{ all: [{ any: [one] }] }, two] }).text,
    "attribute_exists(#n0) AND (attribute_exists(#n1) OR attribute_exists(#n2) AND attribute_exists(#n3))",
  );
  const unequal: Condition = { field: "b", is: "<>", value: "x" };
  assert.equal(
    conditionOf({ any: [one, unequal] }).text,
    "attribute_exists(#n0) OR attribute_type(#n1, :v1) AND #n1 <> :v0",
  );
  const either: Condition = { field: "b", is: "<=", value: true };
  assert.equal(conditionOf({ all: [one, either] }).text, "attribute_exists(#n0) AND (#n1 = :v0 OR #n1 = :v1)");
  assert.equal(conditionOf({ any: [one, either] }).text, "attribute_exists(#n0) OR #n1 = :v0 OR #n1 = :v1");
});

test("unequal asks for the type, as DynamoDB takes a missing field for unequal", () => {
  assert.deepEqual(conditionOf({ field: "lease_token", is: "<>", value: "t" }), {
    text: "attribute_type(#n0, :v1) AND #n0 <> :v0",
    ExpressionAttributeNames: { "#n0": "lease_token" },
    ExpressionAttributeValues: { ":v0": { S: "t" }, ":v1": { S: "S" } },
  });
});

test("an order of booleans names the values for which it holds", () => {
  const valuesOf = (is: "<" | "<=" | "<>") =>
    conditionOf({ field: "done", is, value: true }).ExpressionAttributeValues ?? {};
  assert.deepEqual(Object.values(valuesOf("<")), [{ BOOL: false }]);
  assert.deepEqual(Object.values(valuesOf("<>")), [{ BOOL: false }]);
  assert.deepEqual(Object.values(valuesOf("<=")), [{ BOOL: false }, { BOOL: true }]);
});

test("an empty list is refused: the write would be as good as unconditional", () => {
  for (const condition of [{ all: [] }, { any: [] }, { all: [{ exists: "a" }, { any: [] }] }] satisfies Condition[]) {
    assert.throws(() => conditionOf(condition), { code: "InvalidArgument", message: /empty list/ });
  }
});

test("an update sets, removes and adds", () => {
  assert.deepEqual(
    updateOf({ set: { status: "leased", effects: {} }, remove: ["allow_commit"], increment: { fence: 1 } }),
    {
      text: "SET #n0 = :v0, #n1 = :v1 REMOVE #n2 ADD #n3 :v2",
      ExpressionAttributeNames: { "#n0": "status", "#n1": "effects", "#n2": "allow_commit", "#n3": "fence" },
      ExpressionAttributeValues: { ":v0": { S: "leased" }, ":v1": { M: {} }, ":v2": { N: "1" } },
    },
  );
});

test("an update of nothing has no expression", () => {
  assert.deepEqual(updateOf({ set: {}, remove: [] }), { text: undefined });
});

test("the key is no field", () => {
  assert.throws(() => updateOf({ set: { pk: "x" } }), { code: "InvalidArgument", message: /field pk/ });
  assert.throws(() => conditionOf({ exists: "pk" }), { code: "InvalidArgument", message: /field pk/ });
});
