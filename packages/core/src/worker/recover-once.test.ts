import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { createTimeline } from "../memory/fake-clock.ts";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { Delivery } from "../queue/driver.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { defineTask } from "../task/define-task.ts";
import { createWorker } from "./create-worker.ts";

test("what a worker was handed from outside tells recovery how far the queue is", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const queue = createMemoryQueue({ name: "q", clock });
  const store = createTaskStore({ items: createMemoryItems() });
  const task = defineTask({ type: "any", input: z.object({}), run: () => undefined });
  const client = createClient({ queue, store, clock });
  const worker = createWorker({ queue, store, tasks: [task], clock });
  const receiveOne = async (): Promise<Delivery> => {
    const [delivery] = await queue.receive({ max: 1, waitMs: 0, leaseMs: 60_000 });
    assert.ok(delivery);
    return delivery;
  };

  await timeline.until(client.enqueue(task, {}, { key: "lost" }));
  await queue.settle([{ verb: "complete", delivery: await receiveOne() }]);
  await timeline.advance(6 * 60_000);
  for (const key of ["later", "one more", "and another", "last"])
    await timeline.until(client.enqueue(task, {}, { key }));
  assert.equal(await timeline.until(worker.recoverOnce({ maxMs: 10_000 })), 0, "nothing has overtaken it");

  for (let later = 1; later <= 3; later++) {
    assert.equal(await timeline.until(worker.recoverOnce({ maxMs: 10_000 })), 0, "too few have overtaken it");
    assert.equal(await timeline.until(worker.handle(await receiveOne())), "complete");
  }
  assert.equal(await timeline.until(worker.recoverOnce({ maxMs: 10_000 })), 1);
  assert.equal(await timeline.until(worker.handle(await receiveOne())), "complete");
  assert.equal(await timeline.until(worker.handle(await receiveOne())), "complete");
  const { items } = await store.listByStatus("queued");
  assert.deepEqual(items, []);
});

test("where nobody polls, an empty count is enough to presume a message lost", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const queue = createMemoryQueue({ name: "q", clock });
  const store = createTaskStore({ items: createMemoryItems() });
  const task = defineTask({ type: "any", input: z.object({}), run: () => undefined });
  const client = createClient({ queue, store, clock });
  const worker = createWorker({ queue, store, tasks: [task], clock });
  await timeline.until(client.enqueue(task, {}, { notBefore: new Date(clock.now() + 30 * 86_400_000) }));
  await timeline.advance(30 * 86_400_000);
  assert.equal(await timeline.until(worker.recoverOnce({ maxMs: 10_000 })), 0, "due for less than recoverAfter");
  await timeline.advance(5 * 60_000);
  assert.equal(await timeline.until(worker.recoverOnce({ maxMs: 10_000 })), 1);
});
