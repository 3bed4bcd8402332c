import assert from "node:assert/strict";
import { EVENT_CONTENT_TYPE, encodeEnvelope, formatTime, type Item, ownSource, sleep } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedProcess, PlayedWorker, World } from "./harness.ts";
import { expectFacts, gate, type TestTask, taskOf, unlessAble } from "./support.ts";

const TASKS = 100_000;
/** The queue has moved past the first batch soon. */
const FIRST_BATCH = 1_000;
const BATCHES = 10;
const INPUT = '{"n":1}';
const INPUT_HASH = "2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd";

const PER_BATCH = (TASKS - FIRST_BATCH) / (BATCHES - 1);
const FAR_AWAY = Date.UTC(2100, 0);

const idOf = (index: number): string => `task-${index}`;

/** What a client would have written and sent, an hour's worth: copies of one record, and messages that carry the input. */
async function enqueueMany(world: World, task: TestTask): Promise<void> {
  const { queue, store, items, timing } = world;
  const first = {
    taskId: "first",
    idempotencyKey: "first",
    token: "first",
    type: task.type,
    queue: queue.queue,
    at: 0,
  };
  const times = { recoverAfterMs: timing.recoverAfterMs, retentionMs: 45 * 86_400_000 };
  const { record } = await store.create({
    ...first,
    ...times,
    input: INPUT,
    inputHash: INPUT_HASH,
    notBefore: FAR_AWAY,
  });
  const { not_before: _, ...template } = record;
  for (let batch = 0; batch < BATCHES; batch++) {
    const time = formatTime(world.now());
    const sent = {
      created_at: time,
      updated_at: time,
      sent_at: time,
      check_at: formatTime(world.now() + timing.recoverAfterMs),
    };
    const end = FIRST_BATCH + batch * PER_BATCH;
    for (let index = batch === 0 ? 0 : end - PER_BATCH; index < end; index++) {
      const taskId = idOf(index);
      const check_shard = `${queue.queue}#w${index % 8}`;
      await items.put(
        `task#${taskId}`,
        { ...(template as Item), ...sent, task_id: taskId, check_shard },
        { absent: "task_id" },
      );
      const body = encodeEnvelope({
        id: taskId,
        source: ownSource(queue.queue),
        type: task.type,
        time,
        data: { n: 1 },
      });
      await queue.send([{ id: taskId, body, contentType: EVENT_CONTENT_TYPE }]);
    }
    await world.wait(3_600_000 / BATCHES);
  }
}

/** Counts calls by name, looking at each call once: there are many. */
function counterOf(process: PlayedProcess): (name: string) => number {
  const counts = new Map<string, number>();
  let seen = 0;
  return (name) => {
    for (; seen < process.calls.length; seen++) {
      const { name: called = "" } = process.calls[seen] ?? {};
      counts.set(called, (counts.get(called) ?? 0) + 1);
    }
    return counts.get(name) ?? 0;
  };
}

/** Recovery leaves a backlog alone. */
export const backlog: Suite<LifecycleHarness> = {
  subject: "backlog",
  cases: [
    {
      name: "of 100,000 waiting tasks none is rung, and the one whose message was lost is rung once the queue has moved past it",
      needs: ["time", "faults"],
      unless: unlessAble("lose", "many tasks"),
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        let worker: PlayedWorker | undefined;
        const task = taskOf(world, {
          async run(context) {
            await context.renew({ stage: "external_call", reason: "waiting for the gate of the case", budget: "3h" });
            await handler.wait();
            await sleep((worker as PlayedWorker).clock, 1_000);
          },
        });
        await enqueueMany(world, task);
        const lost = idOf(500);
        await world.broker.act("lose", lost);
        worker = world.worker("a", { tasks: [task], concurrency: 10 });
        const count = counterOf(worker);

        // Every slot is taken, and the queue does not move.
        await world.wait(3 * world.timing.recoverAfterMs);
        assert.ok(count("store.dueForCheck") > 2 * 16, "recovery has looked");
        assert.equal(
          count("store.get") + count("store.moveCheck") + count("queue.send"),
          0,
          "and has neither read nor moved nor sent",
        );

        handler.open();
        const before = await world.record(lost);
        await world.until(() => count("queue.send") > 0);
        const after = await world.record(lost);
        assert.ok((after.check_at as string) > (before.check_at as string), "it is the lost one");
        expectFacts(after, { status: "queued", fence: 0 });
        await world.wait(world.timing.leaseMs);
        assert.deepEqual([count("queue.send"), count("store.moveCheck")], [1, 1], "and no other");
        worker.crash();
      },
    },
  ],
};
