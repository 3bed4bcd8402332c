import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { sleep } from "../clock.ts";
import { createTimeline } from "../memory/fake-clock.ts";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { defineTask } from "../task/define-task.ts";
import { createWorker } from "./create-worker.ts";

test("a lease is kept alive as long as its claim is good for it, however many leases that takes", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const queue = createMemoryQueue({ name: "q", clock });
  const store = createTaskStore({ items: createMemoryItems() });
  const task = defineTask({
    type: "slow",
    input: z.object({}),
    lease: "2s",
    async run({ renew, signal }) {
      await renew({ stage: "external_call", reason: "waiting for the model's batch result", budget: "1m" });
      await sleep(clock, 30_000, signal);
      signal.throwIfAborted();
    },
  });
  const stop = new AbortController();
  const running = createWorker({ queue, store, tasks: [task], clock }).run({ signal: stop.signal });
  const client = createClient({ queue, store, clock });
  const { task: enqueued } = await timeline.until(client.enqueue(task, {}));
  const end = await timeline.until(client.result(enqueued));
  assert.equal(end.outcome, "settled");
  assert.equal(end.task.attempts_total, 1);
  assert.ok(end.task.renewal_count >= 29, `${end.task.renewal_count} renewals`);
  stop.abort();
  await timeline.until(running);
});
