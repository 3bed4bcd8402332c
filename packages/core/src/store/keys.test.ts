import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkShardOf,
  isPayloadKey,
  payloadKey,
  resultKey,
  sharedKeyKey,
  statusShardOf,
  taskIdOf,
  taskKey,
} from "./keys.ts";

test("a task's items have readable keys, and the record's key gives its id back", () => {
  assert.equal(taskKey("abc_1-X"), "task#abc_1-X");
  assert.equal(taskIdOf(taskKey("abc_1-X")), "abc_1-X");
  assert.equal(payloadKey("abc", "00ff"), "payload#abc#00ff");
  assert.equal(resultKey("abc", 7), "result#abc#7");
  assert.equal(sharedKeyKey("wordpress", "post-1"), "key#wordpress#post-1");
});

test("keys of different parts never meet", () => {
  const parts = [
    "",
    "a",
    "b",
    "#",
    "a#b",
    "%",
    "%0023",
    "~",
    "\u0000",
    "\ud800",
    "\udc00",
    "\ufffd",
    "é",
    "x".repeat(300),
    `${"x".repeat(299)}y`,
    "#".repeat(100),
  ];
  const seen = new Map<string, string>();
  for (const system of parts) {
    for (const key of parts) {
      const made = sharedKeyKey(system, key);
      const name = JSON.stringify([system, key]);
      assert.equal(seen.get(made), undefined, `${name} and ${seen.get(made)} share ${made}`);
      seen.set(made, name);
      assert.ok(Buffer.byteLength(made) <= 600, "a key stays short");
      assert.ok(made.isWellFormed());
    }
  }
});

test("a payload belongs to one task", () => {
  assert.equal(isPayloadKey(payloadKey("abc", "1"), "abc"), true);
  assert.equal(isPayloadKey(payloadKey("abcd", "1"), "abc"), false);
  assert.equal(isPayloadKey("result#abc#1", "abc"), false);
});

test("shards are stable, stay in range and are all used", () => {
  assert.equal(checkShardOf("mail", "waiting", "task-1"), "mail#w6");
  assert.equal(checkShardOf("mail", "leased", "task-1"), "mail#l6");
  assert.equal(statusShardOf("parked", "task-1"), "parked#2");
  const ids = Array.from({ length: 1_000 }, (_, index) => `task-${index}`);
  assert.equal(new Set(ids.map((id) => checkShardOf("q", "waiting", id))).size, 8);
  assert.equal(new Set(ids.map((id) => statusShardOf("queued", id))).size, 4);
});
