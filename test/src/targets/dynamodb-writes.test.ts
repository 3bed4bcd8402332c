import assert from "node:assert/strict";
import { test } from "node:test";
import { watchWrites } from "./dynamodb-writes.ts";

const CONDITION = { ConditionExpression: "#n0 = :v0" };

test("writes with a condition, and reads, are in order", () => {
  const watch = watchWrites();
  for (const operation of ["PutItem", "UpdateItem", "DeleteItem"]) watch.onCall({ operation, input: CONDITION });
  watch.onCall({ operation: "GetItem", input: {} });
  watch.verify();
});

test("a write without one is found, whatever the operation", () => {
  for (const operation of ["PutItem", "UpdateItem", "DeleteItem"]) {
    for (const input of [undefined, {}, { ConditionExpression: "" }]) {
      const watch = watchWrites();
      watch.onCall({ operation: "UpdateItem", input: CONDITION });
      watch.onCall({ operation, input });
      assert.throws(() => watch.verify(), /writes without a condition/, operation);
    }
  }
  for (const operation of ["BatchWriteItem", "TransactWriteItems", "ExecuteStatement"]) {
    const watch = watchWrites();
    watch.onCall({ operation, input: CONDITION });
    assert.throws(() => watch.verify(), /writes without a condition/, operation);
  }
});

test("a watch that saw no write proves nothing", () => {
  const watch = watchWrites();
  watch.onCall({ operation: "GetItem", input: {} });
  assert.throws(() => watch.verify(), /nothing was written/);
});
