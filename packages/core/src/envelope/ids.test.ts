import assert from "node:assert/strict";
import { test } from "node:test";
import { isLeaseholdError } from "../errors.ts";
import {
  checkTaskId,
  copyId,
  deriveTaskId,
  effectKey,
  foreignTaskId,
  idempotencyKeyOf,
  inputOf,
  ringId,
  taskIdOf,
} from "./ids.ts";

const AWKWARD = [
  "",
  "a",
  "a\u0000",
  "ä",
  "\uD800",
  "\uD801",
  "\uFFFD",
  "x".repeat(500),
  `${"x".repeat(499)}y`,
  '["a"]',
  "a,b",
  "a b",
];

test("task ids are 26 characters, repeatable, and differ when any part does", () => {
  const ids = new Set<string>();
  for (const queue of AWKWARD) {
    for (const type of AWKWARD) {
      for (const key of AWKWARD) {
        for (const id of [deriveTaskId(queue, type, key), foreignTaskId(queue, type, key)]) {
          assert.match(id, /^[a-z2-7]{26}$/);
          ids.add(id);
        }
      }
    }
  }
  assert.equal(ids.size, 2 * AWKWARD.length ** 3);
  assert.equal(deriveTaskId("q", "t", "k"), deriveTaskId("q", "t", "k"));
});

test("derived ids never change: they are in records", () => {
  assert.equal(deriveTaskId("orders", "publish_post", "daily"), "fvcuksyqbst2dxo3domtm3hanp");
  assert.equal(foreignTaskId("orders", "urn:shop", "1"), "5stuueca2muikf2f2hzsydlcq6");
});

test("an own event names its task; any other is keyed by source and id", () => {
  assert.deepEqual(taskIdOf({ source: "leasehold:orders", id: "Task_1-x" }, "orders"), {
    ok: true,
    taskId: "Task_1-x",
  });
  for (const source of ["leasehold:other", "urn:shop", "leasehold:orders ", "LEASEHOLD:orders"]) {
    assert.deepEqual(taskIdOf({ source, id: "Task_1-x" }, "orders"), {
      ok: true,
      taskId: foreignTaskId("orders", source, "Task_1-x"),
    });
  }
  for (const id of ["", "a b", "ä", "a.b", "x".repeat(65), "a\n"]) {
    const outcome = taskIdOf({ source: "leasehold:orders", id }, "orders");
    assert.ok(!outcome.ok);
    assert.equal(outcome.code, "malformed_event");
  }
});

test("a task id that a user gives", () => {
  for (const id of ["a", "A-Z_09", "x".repeat(64)]) checkTaskId(id, "taskId");
  for (const id of ["", "a b", "a/b", "x".repeat(65), "ä", 7, null, "a\n"]) {
    assert.throws(
      () => checkTaskId(id, "taskId"),
      (error) => isLeaseholdError(error, "InvalidArgument") && error.message.startsWith("taskId: got "),
    );
  }
});

test("message ids are printable ASCII of at most 128 characters, and stay different", () => {
  assert.equal(copyId("task", "8f1c"), "task.8f1c");
  assert.equal(ringId("task", 1_769_860_800_000), "task.r1769860800000");
  const ids = AWKWARD.map((messageId) => copyId("x".repeat(64), messageId));
  for (const id of ids) assert.match(id, /^[\x21-\x7e]{1,128}$/);
  assert.equal(new Set(ids).size, AWKWARD.length);
});

test("the copy of a copy has an id of its own, at every hop", () => {
  const seen = new Set<string>();
  let id = "task";
  for (let hop = 0; hop < 50; hop++) {
    id = copyId("task", id);
    assert.ok(id.length <= 128);
    seen.add(id);
  }
  assert.equal(seen.size, 50);
});

test("effect keys", () => {
  assert.equal(effectKey("run-1", "publish", undefined), "run-1:publish");
  assert.equal(effectKey("run-1", "publish", "daily"), "run-1:publish:daily");
  assert.equal(effectKey("shared/key", undefined, undefined), "shared/key");
  const keys = AWKWARD.map((key) => effectKey(key, "publish", "item"));
  for (const key of keys) assert.match(key, /^[\x21-\x7e]{1,255}$/);
  assert.equal(new Set(keys).size, AWKWARD.length);
});

test("the idempotency key is the producer's, else the task id", () => {
  assert.equal(idempotencyKeyOf({ idempotencykey: "run-1:x" }, "task"), "run-1:x");
  assert.equal(idempotencyKeyOf({}, "task"), "task");
});

test("inputs that are equal as JSON have one hash", () => {
  assert.deepEqual(inputOf({ b: 1, a: [true, "ä"], c: undefined }), inputOf({ a: [true, "ä"], b: 1 }));
  assert.equal(inputOf({ b: 1, a: 2 }).text, '{"a":2,"b":1}');
  assert.match(inputOf(null).hash, /^[0-9a-f]{64}$/);
  const values = [
    null,
    "",
    0,
    "0",
    false,
    [],
    {},
    [null],
    { a: null },
    "\uD800",
    "\uFFFD",
    "é",
    "e\u0301",
    { A: 1, a: 2 },
    { a: 1, A: 2 },
  ];
  assert.equal(new Set(values.map((value) => inputOf(value).hash)).size, values.length);
  for (const value of [undefined, Number.NaN, 1n, () => 1, new Map(), [undefined]]) {
    assert.throws(
      () => inputOf(value),
      (error) => isLeaseholdError(error, "InvalidArgument") && error.message.startsWith("input"),
    );
  }
});
