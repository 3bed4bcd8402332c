import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type AnyTask, defineEffect, defineTask } from "@leasehold/core";
import { z } from "zod";
import { type CountedServers, openCountedServers } from "./counted-servers.ts";

/** What a step costs, in calls to real servers: a lost round trip is a red test. */

const input = z.object({ number: z.number() });
/** Long enough, in played time, for what has begun to be settled at the broker. */
const SETTLED_MS = 1_000;
const HALF_LEASE_MS = 30_000;
const SLOTS = 100;

async function enqueue(servers: CountedServers, task: AnyTask, count: number): Promise<readonly string[]> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  const enqueued = await servers.time.until(
    Promise.all(numbers.map((number) => servers.client.enqueue(task, { number }))),
  );
  return enqueued.map((each) => each.task.task_id);
}

/** Runs tasks from the first receive to the settled record, and answers what that cost. */
async function costOfRunning(context: TestContext, task: AnyTask, count: number) {
  const servers = await openCountedServers(context);
  const ids = await enqueue(servers, task, count);
  servers.count();
  const worker = servers.startWorker([task], SLOTS);
  await servers.time.wait(SETTLED_MS);
  const cost = servers.count();
  await worker.stop();
  for (const id of ids) assert.equal((await servers.time.until(servers.client.get(id)))?.status, "settled");
  return cost;
}

test("an enqueue is two writes and one send", async (context) => {
  const servers = await openCountedServers(context);
  servers.count();
  await enqueue(servers, defineTask({ type: "short", input, run: () => undefined }), 1);
  assert.deepEqual(servers.count(), { writes: 2, reads: 0, sends: 1, extensions: 0, sqs: 1 });
});

test("a short task is two writes, no read, and at most a quarter of a call to the queue", async (context) => {
  const count = 40;
  const cost = await costOfRunning(context, defineTask({ type: "short", input, run: ({ id }) => id }), count);
  assert.deepEqual([cost.writes, cost.reads, cost.sends, cost.extensions], [2 * count, 0, 0, 0]);
  assert.ok(cost.sqs <= count / 4, `${cost.sqs} calls to SQS for ${count} tasks`);
});

const idempotent = defineEffect({
  name: "publish",
  externalSystem: "blog",
  guard: "idempotent",
  commit: ({ idempotencyKey }) => idempotencyKey,
  find: ({ idempotencyKey }) => idempotencyKey,
  verify: (key) => ({ externalId: key, status: "published" }),
});
const unguarded = defineEffect({
  name: "send",
  externalSystem: "chat",
  guard: "none",
  commit: ({ idempotencyKey }) => ({ id: idempotencyKey }),
  find: null,
  verify: ({ id }: { id: string }) => ({ externalId: id, status: "sent" }),
});

test("an effect is two writes more", async (context) => {
  const task = defineTask({ type: "effect", input, effects: [idempotent], run: (run) => run.effect(idempotent, {}) });
  const cost = await costOfRunning(context, task, 1);
  assert.deepEqual([cost.writes, cost.reads, cost.extensions], [2 + 2, 0, 0]);
});

test("an effect that only its answer proves is three writes more", async (context) => {
  const task = defineTask({ type: "effect", input, effects: [unguarded], run: (run) => run.effect(unguarded, {}) });
  const cost = await costOfRunning(context, task, 1);
  assert.deepEqual([cost.writes, cost.reads, cost.extensions], [2 + 3, 0, 0]);
});

test("a beat of ten leases is a write each, and one call to the queue", async (context) => {
  const [leases, beats] = [10, 9];
  const servers = await openCountedServers(context);
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const waiting = defineTask({
    type: "waiting",
    input,
    async run(task) {
      await task.renew({ stage: "external_call", reason: "the model works on batch 17", budget: "1h" });
      await opened;
    },
  });
  await enqueue(servers, waiting, leases);
  const worker = servers.startWorker([waiting], leases);
  await servers.time.wait(SETTLED_MS);
  servers.count();
  await servers.time.wait(beats * HALF_LEASE_MS);
  const cost = servers.count();
  assert.deepEqual([cost.writes, cost.reads], [beats * leases, 0]);
  // The broker's lease is a little longer than the record's, and so is its beat.
  assert.equal(cost.sqs, cost.extensions);
  assert.ok(
    cost.extensions <= beats && cost.extensions >= beats - 1,
    `${cost.extensions} extensions in ${beats} beats`,
  );
  open();
  await worker.stop();
});
