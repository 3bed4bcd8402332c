import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import type { Condition, FieldPath, Item, ItemStore, ItemUpdate } from "@leasehold/core/driver";
import { createMemoryItems } from "@leasehold/core/memory";
import { listen, localConfig, startDynalite } from "./dynalite.fixture.ts";
import { createDynamoItems } from "./items.ts";
import { createTable } from "./table.ts";

async function openItems(context: TestContext): Promise<ItemStore> {
  const at = (await startDynalite(context))("tasks");
  await createTable(at);
  const items = createDynamoItems(at);
  context.after(() => items.close());
  return items;
}

/** What the SDK says about its tries. */
interface Failure {
  readonly $metadata: { readonly attempts?: number };
}

const ITEM: Item = {
  text: "b",
  later: "d",
  number: 5,
  more: 7,
  yes: true,
  no: false,
  nothing: null,
  map: { "a.b": "c" },
};
const PATHS: readonly FieldPath[] = ["text", "later", "number", "more", "yes", "no", "nothing", "none", ["map", "a.b"]];
const OPERATORS = ["=", "<>", "<", "<=", ">", ">="] as const;
const VALUES = ["b", "c", 5, 6, true];

function allConditions(): readonly Condition[] {
  const simple = PATHS.flatMap((path): Condition[] => [{ exists: path }, { absent: path }]);
  const compared = PATHS.flatMap((field) =>
    OPERATORS.flatMap((is) => VALUES.map((value): Condition => ({ field, is, value }))),
  );
  const conditions = [...simple, ...compared];
  const nested = conditions.flatMap((condition, index): Condition[] => {
    const other = conditions[(index * 7) % conditions.length] as Condition;
    if (index % 9 !== 0) return [];
    return [{ all: [{ any: [condition, other] }, { any: [other, { all: [condition, { exists: "text" }] }] }] }];
  });
  return [...conditions, ...nested];
}

test("every condition means what it means to the memory items, on an item and on none", async (context) => {
  const items = await openItems(context);
  const memory = createMemoryItems();
  for (const store of [items, memory]) await store.put("there", ITEM, { absent: "text" });
  const update: ItemUpdate = { remove: ["never"] };
  for (const [index, condition] of allConditions().entries()) {
    const keys = index % 3 === 0 ? ["there", `none-${index}`] : ["there"];
    for (const key of keys) {
      const real = await items.update(key, update, condition);
      assert.deepEqual(real, await memory.update(key, update, condition), `${key}: ${JSON.stringify(condition)}`);
    }
  }
});

test("an update sets, removes and adds, and answers the item as it was", async (context) => {
  const items = await openItems(context);
  const made = await items.update("k", { set: { a: 1 }, increment: { n: 2 } }, { absent: "a" });
  assert.deepEqual(made, { applied: true });
  const changed = await items.update(
    "k",
    { set: { b: [] }, remove: ["a", "none"], increment: { n: -5, m: 1 } },
    { exists: "a" },
  );
  assert.deepEqual(changed, { applied: true, old: { a: 1, n: 2 } });
  assert.deepEqual(await items.get("k"), { b: [], n: -3, m: 1 });
});

test("a put replaces the whole item", async (context) => {
  const items = await openItems(context);
  assert.deepEqual(await items.put("k", { a: 1, b: 2 }, { absent: "a" }), { applied: true });
  assert.deepEqual(await items.put("k", { a: 3 }, { absent: "a" }), { applied: false, old: { a: 1, b: 2 } });
  assert.deepEqual(await items.put("k", { a: 3 }, { exists: "a" }), { applied: true, old: { a: 1, b: 2 } });
  assert.deepEqual(await items.get("k"), { a: 3 });
});

test("a failed condition on no item brings none", async (context) => {
  const items = await openItems(context);
  assert.deepEqual(await items.update("k", { set: { a: 1 } }, { exists: "a" }), { applied: false });
  assert.equal(await items.get("k"), undefined);
});

test("a failed condition that brings the old item, as DynamoDB's does, costs no read", async (context) => {
  const operations: unknown[] = [];
  const server = createServer((request, response) => {
    operations.push(request.headers["x-amz-target"]);
    request.resume();
    request.on("end", () => {
      const __type = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
      const Item = { pk: { S: "k" }, a: { N: "2" }, map: { M: { inner: { L: [{ NULL: true }] } } } };
      response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
      response.end(JSON.stringify({ __type, message: "The conditional request failed", Item }));
    });
  });
  const items = createDynamoItems({ table: "tasks", config: localConfig(await listen(server)) });
  context.after(() => server.close());
  context.after(() => items.close());
  const old = { a: 2, map: { inner: [null] } };
  assert.deepEqual(await items.put("k", { a: 1 }, { absent: "a" }), { applied: false, old });
  assert.deepEqual(await items.update("k", { set: { a: 1 } }, { absent: "a" }), { applied: false, old });
  assert.deepEqual(operations, ["DynamoDB_20120810.PutItem", "DynamoDB_20120810.UpdateItem"]);
});

test("adding to what is no number, and naming a field twice, is refused", async (context) => {
  const items = await openItems(context);
  await items.put("k", { a: "text" }, { absent: "a" });
  await assert.rejects(items.update("k", { increment: { a: 1 } }, { exists: "a" }), { code: "InvalidArgument" });
  await assert.rejects(items.update("k", { set: { b: 1 }, remove: ["b"] }, { exists: "a" }), {
    code: "InvalidArgument",
  });
});

test("an item above the limit is too large, with the limit", async (context) => {
  const items = await openItems(context);
  const failure = { code: "PayloadTooLarge", details: { limit: 409_600 } };
  await assert.rejects(items.put("k", { text: "x".repeat(409_600) }, { absent: "text" }), failure);
});

test("pages hold what was asked for, and the last one says so", async (context) => {
  const items = await openItems(context);
  const times = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"];
  for (const created_at of times)
    await items.put(`task#${created_at}`, { agent_run_id: "run", created_at }, { absent: "created_at" });
  await items.put("task#other", { agent_run_id: "another", created_at: "2026-01-02" }, { absent: "created_at" });
  await items.put("task#sparse", { created_at: "2026-01-02" }, { absent: "created_at" });
  const run = { index: "by_run", partition: "run" } as const;

  const first = await items.query({ ...run, limit: 2 });
  assert.deepEqual(first.entries, [
    { key: "task#2026-01-01", sort: "2026-01-01" },
    { key: "task#2026-01-02", sort: "2026-01-02" },
  ]);
  const second = await items.query({ ...run, limit: 2, cursor: first.cursor ?? "" });
  assert.deepEqual(
    second.entries.map(({ sort }) => sort),
    ["2026-01-03", "2026-01-04"],
  );
  assert.equal(second.cursor, undefined);

  const descending = await items.query({ ...run, limit: 3, descending: true });
  assert.deepEqual(
    descending.entries.map(({ sort }) => sort),
    ["2026-01-04", "2026-01-03", "2026-01-02"],
  );
  const rest = await items.query({ ...run, limit: 3, descending: true, cursor: descending.cursor ?? "" });
  assert.deepEqual(rest, { entries: [{ key: "task#2026-01-01", sort: "2026-01-01" }] });

  const upTo = await items.query({ ...run, limit: 10, upTo: "2026-01-02" });
  assert.deepEqual(
    upTo.entries.map(({ sort }) => sort),
    ["2026-01-01", "2026-01-02"],
  );
  assert.deepEqual(await items.query({ ...run, partition: "nobody", limit: 10 }), { entries: [] });
});

test("a cursor of nobody and a page of nothing are refused", async (context) => {
  const items = await openItems(context);
  const query = { index: "by_status", partition: "queued#0" } as const;
  await assert.rejects(items.query({ ...query, limit: 1, cursor: "x" }), { code: "InvalidArgument" });
  await assert.rejects(items.query({ ...query, limit: 0 }), { code: "InvalidArgument" });
});

test("a table that is not there is named", async (context) => {
  const items = createDynamoItems((await startDynalite(context))("no-such-table"));
  context.after(() => items.close());
  await assert.rejects(items.get("k"), { code: "NotFound", message: /no table no-such-table .*createTable/ });
});

test("a server that is not there is unavailable, at the first try", async () => {
  const server = createServer();
  const endpoint = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  const items = createDynamoItems({
    table: "tasks",
    config: { ...localConfig(endpoint), maxAttempts: 9 },
  });
  await assert.rejects(items.get("k"), (error: { readonly code: string; readonly cause: Failure }) => {
    assert.equal(error.code, "Unavailable");
    assert.equal(error.cause.$metadata.attempts, 1);
    return true;
  });
  await items.close();
});

test("a store that is closed does nothing", async (context) => {
  const at = (await startDynalite(context))("tasks");
  const items = createDynamoItems(at);
  await items.close();
  await items.close();
  await assert.rejects(items.get("k"), { code: "Unavailable", message: /closed/ });
  await assert.rejects(items.put("k", { a: 1 }, { absent: "a" }), { code: "Unavailable", message: /closed/ });
});
