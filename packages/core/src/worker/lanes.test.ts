import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { formatTime, sleep } from "../clock.ts";
import { encodeEnvelope } from "../envelope/codec.ts";
import { EVENT_CONTENT_TYPE } from "../envelope/envelope.ts";
import { createTimeline } from "../memory/fake-clock.ts";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { QueueDriver } from "../queue/driver.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { defineTask } from "../task/define-task.ts";
import { createWorker } from "./create-worker.ts";

/** A queue that keeps no order and yet hands out groups, as an SQS standard queue does. */
function grouped(queue: QueueDriver): { readonly queue: QueueDriver; readonly delays: number[] } {
  const delays: number[] = [];
  return {
    delays,
    queue: {
      ...queue,
      async receive(options) {
        const deliveries = await queue.receive(options);
        return deliveries.map((delivery) => ({ ...delivery, orderingKey: "tenant-1" }));
      },
      settle(items) {
        delays.push(...items.flatMap((item) => (item.verb === "abandon" ? [item.delayMs] : [])));
        return queue.settle(items);
      },
    },
  };
}

test("where the broker keeps no order, the tasks of a group run side by side", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const { queue } = grouped(createMemoryQueue({ name: "q", clock, settings: { ordering: false } }));
  const store = createTaskStore({ items: createMemoryItems() });
  let atOnce = 0;
  let mostAtOnce = 0;
  const task = defineTask({
    type: "any",
    input: z.object({}),
    async run({ signal }) {
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      await sleep(clock, 1_000, signal);
      atOnce -= 1;
    },
  });
  const client = createClient({ queue, store, clock });
  for (const key of ["one", "two", "three"]) await timeline.until(client.enqueue(task, {}, { key }));
  const stop = new AbortController();
  const running = createWorker({ queue, store, tasks: [task], clock }).run({ signal: stop.signal });
  await timeline.advance(10_000);
  stop.abort();
  await timeline.until(running);
  assert.equal(mostAtOnce, 3);
});

test("where the broker keeps no order, a message of a group is put away for as long as any other", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const { queue, delays } = grouped(createMemoryQueue({ name: "q", clock, settings: { ordering: false } }));
  const store = createTaskStore({ items: createMemoryItems() });
  const task = defineTask({ type: "any", input: z.object({}), run: () => undefined });
  const notbefore = formatTime(clock.now() + 3_600_000);
  const body = encodeEnvelope({ id: "later", source: "elsewhere", type: "any", notbefore, data: {} });
  await queue.send([{ id: "later", body, contentType: EVENT_CONTENT_TYPE }]);
  const stop = new AbortController();
  const running = createWorker({ queue, store, tasks: [task], clock, orderHold: "1m" }).run({ signal: stop.signal });
  await timeline.advance(10_000);
  stop.abort();
  await timeline.until(running);
  assert.equal(delays.length, 1);
  assert.ok((delays[0] as number) > 3_590_000, `put away for ${delays[0]} ms`);
});
