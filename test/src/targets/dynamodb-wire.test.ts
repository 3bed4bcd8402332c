import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { openStore } from "@leasehold/core";
import { type ErrorCode, type ItemStore, systemClock } from "@leasehold/core/driver";
import { createDynamoItems, createDynamoStore, createTable } from "@leasehold/dynamodb";
import { type DynamodbEmulator, type DynamodbOptions, startDynamodb } from "@leasehold/emulators";
import { awsConfig } from "./aws.ts";

/** What the wire does to a store: faults of the server and of the connection, a key that is refused, a server whose time is another. */
async function open(context: TestContext, options: DynamodbOptions = {}) {
  const emulator = await startDynamodb(options);
  context.after(() => emulator.stop());
  const connection = { table: "tasks", config: { ...awsConfig(emulator.endpoint), maxAttempts: 5 } };
  return { emulator, connection };
}

async function openItems(
  context: TestContext,
): Promise<{ readonly emulator: DynamodbEmulator; readonly items: ItemStore }> {
  const { emulator, connection } = await open(context);
  await createTable(connection);
  const items = createDynamoItems(connection);
  context.after(() => items.close());
  return { emulator, items };
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  ProvisionedThroughputExceededException: "ResourceExhausted",
  ThrottlingException: "ResourceExhausted",
  RequestLimitExceeded: "ResourceExhausted",
  InternalServerError: "Unavailable",
  ServiceUnavailable: "Unavailable",
  TransactionConflictException: "Unavailable",
  ReplicatedWriteConflictException: "Unavailable",
  AccessDeniedException: "PermissionDenied",
  ExpiredTokenException: "PermissionDenied",
  SomethingNewException: "Unknown",
};

test("errors of the service become codes, and the SDK asks once", async (context) => {
  const { emulator, items } = await openItems(context);
  for (const [code, expected] of Object.entries(CODES)) {
    emulator.calls.reset();
    emulator.faults.add({ operation: "UpdateItem", error: { code } });
    await assert.rejects(items.update("k", { set: { a: 1 } }, { absent: "a" }), { code: expected }, code);
    assert.equal(emulator.calls.of("UpdateItem").calls, 1, code);
    assert.equal(emulator.calls.total(), 1, `${code}: no read follows`);
  }
  assert.equal(await items.get("k"), undefined);
});

test("a connection that breaks is Unavailable, whether the write was applied or not", async (context) => {
  const { emulator, items } = await openItems(context);
  for (const drop of ["before", "after"] as const) {
    emulator.faults.add({ operation: "UpdateItem", drop });
    await assert.rejects(items.update(drop, { set: { a: 1 } }, { absent: "a" }), { code: "Unavailable" });
  }
  assert.equal(await items.get("before"), undefined);
  assert.deepEqual(await items.get("after"), { a: 1 });
});

test("a write costs one call, and a failed condition one read more where the server brings no old item", async (context) => {
  const { emulator, items } = await openItems(context);
  emulator.calls.reset();
  await items.put("k", { a: 1 }, { absent: "a" });
  await items.update("k", { set: { a: 2 } }, { exists: "a" });
  assert.deepEqual(await items.put("k", { a: 3 }, { absent: "a" }), { applied: false, old: { a: 2 } });
  const { calls } = emulator;
  assert.deepEqual([calls.of("PutItem").calls, calls.of("UpdateItem").calls, calls.of("GetItem").calls], [2, 1, 1]);
});

test("a URL opens the store, through core, which knows no database", async (context) => {
  const { connection } = await open(context);
  await createTable(connection);
  const store = await openStore("dynamodb://tasks", { config: connection.config });
  context.after(() => store.close());
  assert.equal(await store.get("t"), undefined);
});

test("a key that is refused is PermissionDenied", async (context) => {
  const { connection } = await open(context, { accessKeyId: "right" });
  const items = createDynamoItems(connection);
  context.after(() => items.close());
  await assert.rejects(items.get("k"), { code: "PermissionDenied", message: /security token/ });
});

test("a worker whose clock is off by more than half of maxClockSkewMs gets no lease", async (context) => {
  const { connection } = await open(context, { dateSkewMs: 5_000 });
  await createTable(connection);
  const store = createDynamoStore(connection);
  context.after(() => store.close());
  const acquire = (maxClockSkewMs: number) =>
    store.acquire({ taskId: "t", owner: "w", token: "t", at: systemClock.now(), leaseMs: 60_000, maxClockSkewMs });
  for (let answers = 0; answers < 3; answers++) await store.get("t");
  await assert.rejects(acquire(2_000), { code: "Unavailable", message: /clock is at least \d+ ms behind/ });
  assert.equal((await acquire(20_000)).outcome, "missing", "an operator may allow more");
});
