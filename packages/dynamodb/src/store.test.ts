import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Clock, systemClock, type TaskStore } from "@leasehold/core/driver";
import { listen, localConfig, startDynalite } from "./dynalite.fixture.ts";
import { createDynamoStore, openStore } from "./store.ts";
import { createTable } from "./table.ts";

const MINUTE_MS = 60_000;

/** A clock that is off by what `offset` says now. */
function clockThatIsOff(offset: { ms: number }): Clock {
  return { ...systemClock, now: () => systemClock.now() + offset.ms };
}

function acquire(store: TaskStore, at: number, token: string) {
  return store.acquire({ taskId: "t", owner: "w", token, at, leaseMs: MINUTE_MS, maxClockSkewMs: 2_000 });
}

function create(store: TaskStore, at: number, lease?: { readonly owner: string; readonly leaseMs: number }) {
  return store.create({
    taskId: "t",
    type: "type",
    queue: "queue",
    input: "{}",
    inputHash: "hash",
    idempotencyKey: "key",
    at,
    recoverAfterMs: 5 * MINUTE_MS,
    retentionMs: 45 * 1_440 * MINUTE_MS,
    token: "created",
    ...(lease && { lease }),
  });
}

test("a store by URL keeps a task", async (context) => {
  const { table, config = {} } = (await startDynalite(context))("tasks");
  await createTable({ table, config });
  const store = openStore("dynamodb://tasks", { config });
  context.after(() => store.close());
  const at = systemClock.now();
  assert.equal((await create(store, at)).outcome, "created");
  assert.equal((await create(store, at)).outcome, "created");
  const acquired = await acquire(store, at, "one");
  assert.equal(acquired.outcome, "acquired");
  assert.equal((await acquire(store, at, "two")).outcome, "refused");
  assert.equal((await store.get("t"))?.lease_token, "one");
});

test("no lease is handed out while the clock is off, in three answers running, and none is until it was set right", async (context) => {
  const at = (await startDynalite(context))("tasks");
  await createTable(at);
  for (const sign of [-1, 1]) {
    const offset = { ms: sign * MINUTE_MS };
    const store = createDynamoStore({ ...at, clock: clockThatIsOff(offset) });
    const now = systemClock.now();
    assert.equal((await acquire(store, now, "one")).outcome, "missing");
    // Two answers have come, of the write and of the read after it.
    assert.equal((await store.get("t"))?.task_id, undefined);
    const way = sign < 0 ? /behind the database's.*maxClockSkewMs \(2000\)/ : /ahead of the database's/;
    await assert.rejects(acquire(store, now, "two"), { code: "Unavailable", message: way });
    await assert.rejects(create(store, now, { owner: "w", leaseMs: MINUTE_MS }), { code: "Unavailable", message: way });
    offset.ms = 0;
    assert.equal((await acquire(store, now, "three")).outcome, "missing");
    await store.close();
  }
});

test("the clock of a client that enqueues does not matter", async (context) => {
  const at = (await startDynalite(context))("tasks");
  await createTable(at);
  const store = createDynamoStore({ ...at, clock: clockThatIsOff({ ms: MINUTE_MS }) });
  context.after(() => store.close());
  for (let round = 0; round < 4; round++) await store.get("t");
  assert.equal((await create(store, systemClock.now())).outcome, "created");
});

test("a client of the caller's stays open, and is left as it was", async (context) => {
  const { table, config = {} } = (await startDynalite(context))("tasks");
  await createTable({ table, config });
  const client = new DynamoDBClient(config);
  context.after(() => client.destroy());
  const before = client.middlewareStack.identify();
  const store = createDynamoStore({ table, client });
  assert.equal(await store.get("t"), undefined);
  await store.close();
  assert.deepEqual(client.middlewareStack.identify(), before);
  const another = createDynamoStore({ table, client });
  assert.equal(await another.get("t"), undefined);
});

test("a request that hangs ends in Unavailable", async (context) => {
  const server = createServer(() => undefined);
  const endpoint = await listen(server);
  context.after(() => server.closeAllConnections());
  context.after(() => server.close());
  const requestHandler = { requestTimeout: 50, throwOnRequestTimeout: true };
  const store = createDynamoStore({
    table: "tasks",
    config: { ...localConfig(endpoint), requestHandler },
  });
  context.after(() => store.close());
  await assert.rejects(store.get("t"), { code: "Unavailable" });
});

test("misuse shows when the store is made", () => {
  for (const table of ["", "ab", "a b c", "arn:aws:dynamodb:eu-west-1:1:index/tasks", undefined as unknown as string]) {
    assert.throws(() => createDynamoStore({ table }), { code: "InvalidArgument", message: /^table: expected/ });
  }
  for (const url of ["tasks", "dynamodb://", "sqs://tasks", "dynamodb://ta sks"]) {
    assert.throws(() => openStore(url), { code: "InvalidArgument", message: /^url: expected dynamodb:/ });
  }
});
