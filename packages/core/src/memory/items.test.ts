import assert from "node:assert/strict";
import { test } from "node:test";
import { isLeaseholdError } from "../errors.ts";
import { createMemoryItems, createMemoryStore, memoryItems } from "./items.ts";

// What holds for every database is proven by the store suite; here is what only memory has.

test("handles on one name see the same items, and closing one leaves the others open", async () => {
  const [first, second] = [memoryItems("items-test"), memoryItems("items-test")];
  await first.put("a", { status: "queued" }, { absent: "status" });
  await first.close();
  await first.close();
  assert.deepEqual(await second.get("a"), { status: "queued" });
  assert.deepEqual(await memoryItems("items-test").get("a"), { status: "queued" });
  assert.equal(await memoryItems("items-test-other").get("a"), undefined);
});

test("items without a name are nobody else's", async () => {
  const [first, second] = [createMemoryItems(), createMemoryItems()];
  await first.put("a", { status: "queued" }, { absent: "status" });
  assert.equal(await second.get("a"), undefined);
});

test("every call on a closed handle says Unavailable", async () => {
  const items = createMemoryItems();
  const store = createMemoryStore();
  await items.close();
  await store.close();
  const calls = [
    () => items.get("a"),
    () => items.put("a", { status: "queued" }, { absent: "status" }),
    () => items.update("a", { set: { status: "queued" } }, { absent: "status" }),
    () => items.query({ index: "by_run", partition: "r", limit: 1 }),
    () => store.get("a"),
  ];
  for (const call of calls) await assert.rejects(call(), (error) => isLeaseholdError(error, "Unavailable"));
});

test("what is stored and answered is frozen all the way down", async () => {
  const items = createMemoryItems();
  await items.put("a", { status: "queued", effects: { publish: { tags: ["x"] } } }, { absent: "status" });
  await items.update("a", { set: { list: [{ deep: 1 }] } }, { exists: "status" });
  const item = (await items.get("a")) as { effects: { publish: { tags: string[] } }; list: { deep: number }[] };
  for (const part of [item, item.effects, item.effects.publish, item.effects.publish.tags, item.list, item.list[0]]) {
    assert.ok(Object.isFrozen(part));
  }
});

test("a write whose condition fails leaves even the indexes as they were", async () => {
  const items = createMemoryItems();
  await items.put("a", { status_shard: "queued#1", created_at: "1" }, { absent: "created_at" });
  await items.update("a", { set: { status_shard: "leased#1" } }, { exists: "lease_token" });
  const query = { index: "by_status", limit: 10 } as const;
  assert.equal((await items.query({ ...query, partition: "queued#1" })).entries.length, 1);
  assert.equal((await items.query({ ...query, partition: "leased#1" })).entries.length, 0);
});
