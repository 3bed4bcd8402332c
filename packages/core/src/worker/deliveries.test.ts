import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { sleep } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import { createTimeline } from "../memory/fake-clock.ts";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { Delivery, QueueDriver } from "../queue/driver.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { defineTask } from "../task/define-task.ts";
import { createWorker } from "./create-worker.ts";

const INPUT = z.object({ n: z.number() });

/** Runs tasks of a minute each, on leases of ten seconds, with a driver that does not keep its contract. */
async function runOn(
  driverOf: (queue: QueueDriver) => QueueDriver,
  tasks: number,
): Promise<{ readonly records: readonly (readonly [status: string, attempts: number])[]; readonly received: number }> {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const queue = createMemoryQueue({ name: "q", clock });
  let received = 0;
  const counting: QueueDriver = {
    ...queue,
    async receive(options) {
      const deliveries = await queue.receive(options);
      received += deliveries.length;
      return deliveries;
    },
  };
  const store = createTaskStore({ items: createMemoryItems() });
  const task = defineTask({
    type: "slow",
    input: INPUT,
    lease: "10s",
    async run({ signal }) {
      await sleep(clock, 60_000, signal);
      signal.throwIfAborted();
    },
  });
  const client = createClient({ queue, store, clock });
  for (let n = 1; n <= tasks; n++) await timeline.until(client.enqueue(task, { n }, { taskId: `task-${n}` }));
  const stop = new AbortController();
  const running = createWorker({ queue: driverOf(counting), store, tasks: [task], clock }).run({ signal: stop.signal });
  await timeline.advance(65_000);
  stop.abort();
  await timeline.until(running);
  const records = [];
  for (let n = 1; n <= tasks; n++) {
    const record = await store.get(`task-${n}`);
    records.push([record?.status ?? "missing", record?.attempts_total ?? 0] as const);
  }
  return { records, received };
}

test("a driver that throws before its extend has begun is asked again, and the delivery is kept", async () => {
  let calls = 0;
  const { records, received } = await runOn(
    (queue) => ({
      ...queue,
      extend(items) {
        calls += 1;
        if (calls === 1) throw new LeaseholdError("Unavailable", "not connected");
        return queue.extend(items);
      },
    }),
    1,
  );
  assert.deepEqual(records, [["settled", 1]]);
  assert.equal(received, 1, "the broker's lease was kept");
  assert.ok(calls >= 5, `${calls} calls`);
});

test("an extend that is answered with nothing is a failed one: tried again while there is time", async () => {
  let calls = 0;
  const { records, received } = await runOn(
    (queue) => ({
      ...queue,
      async extend(items) {
        calls += 1;
        return calls === 1 ? (undefined as unknown as []) : queue.extend(items);
      },
    }),
    1,
  );
  assert.deepEqual(records, [["settled", 1]]);
  assert.equal(received, 1, "the broker's lease was kept");
  assert.ok(calls >= 5, `${calls} calls`);
});

test("a delivery that does not say how long it is held costs no other lease its renewals", async () => {
  const { records } = await runOn(
    (queue) => ({
      ...queue,
      async receive(options) {
        const deliveries = await queue.receive(options);
        return deliveries.map((delivery): Delivery => {
          if (!delivery.body.includes("task-1")) return delivery;
          const { leaseMs: _, ...rest } = delivery;
          return rest as Delivery;
        });
      },
    }),
    3,
  );
  assert.deepEqual(records, [
    ["settled", 1],
    ["settled", 1],
    ["settled", 1],
  ]);
});
