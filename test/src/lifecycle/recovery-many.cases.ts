import assert from "node:assert/strict";
import { LeaseholdError } from "@leasehold/core";
import { formatTime, type Item, parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, World } from "./harness.ts";
import { counted, enqueue, expectFacts, raise, taskOf, unlessAble } from "./support.ts";

/** More than a look reads at once, in every partition. */
const MANY = 1_200;

/** See the recovery cases: from the time of the task on, with an empty queue. */
const latestStartMs = (world: World): number => 2 * world.timing.recoverAfterMs + 2 * world.timing.leaseMs;

/** The task, whose message is lost like all others, starts as if it were alone. */
async function startsInTime(world: World, taskId: string, enqueuedAt: number): Promise<void> {
  const record = await world.reaches(taskId, "settled");
  const afterMs = parseTime(record.acquired_at as string) - enqueuedAt;
  assert.ok(afterMs <= latestStartMs(world), `started after ${afterMs} ms`);
}

/** A lost task is found among others that recovery leaves where they are. */
export const recoveryOfMany: Suite<LifecycleHarness> = {
  subject: "recovery of many",
  cases: [
    {
      name: "records that cannot be read do not keep the others from being rung, and each is named once",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const client = world.client();
        const unreadable: string[] = [];
        for (let n = 0; n < 60; n++) {
          const id = await enqueue(world, client, task, { key: `odd-${n}` });
          const item = (await world.items.get(`task#${id}`)) as Item;
          const odd = { ...item, stage: "of_a_later_version", check_at: formatTime(world.now() - 1_000) };
          await world.items.put(`task#${id}`, odd, { exists: "task_id" });
          unreadable.push(id);
        }
        const enqueuedAt = world.now();
        const taskId = await enqueue(world, client, task, { key: "good" });
        await world.broker.act("lose");
        const worker = world.worker("a", { tasks: [task] });
        await startsInTime(world, taskId, enqueuedAt);
        await world.wait(4 * world.timing.recoverAfterMs);
        const told = worker.log.filter((line) => line.includes("recovery could not look at task"));
        assert.deepEqual(
          unreadable.map((id) => told.filter((line) => line.includes(id)).length),
          unreadable.map(() => 1),
        );
      },
    },
    {
      name: "many tasks of a type that the worker does not know do not hide one that it knows",
      needs: ["time", "faults"],
      unless: unlessAble("lose", "many tasks"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const removed = taskOf(world, { type: "removed_type", run: raise(new Error("never")) });
        const client = world.client();
        for (let n = 0; n < MANY; n++) await enqueue(world, client, removed, { key: String(n) });
        await world.wait(1_000);
        const enqueuedAt = world.now();
        const taskId = await enqueue(world, client, task, { key: "known" });
        await world.broker.act("lose");
        const worker = world.worker("a", { tasks: [task] });
        await startsInTime(world, taskId, enqueuedAt);
        await world.wait(2 * world.timing.recoverAfterMs);
        const reads = (): number => worker.calls.filter(({ name }) => name === "store.get").length;
        assert.ok(reads() >= MANY, "each was looked at");
        const before = reads();
        await world.wait(2 * world.timing.recoverAfterMs);
        assert.equal(reads() - before, 0, "and is not read again");
      },
    },
    {
      name: "many lost tasks with ordering keys, which nothing has overtaken, do not hide one without; they are rung after an hour",
      needs: ["time", "faults"],
      unless: unlessAble("ordering", "lose", "many tasks"),
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const client = world.client();
        const startedAt = world.now();
        for (let n = 0; n < MANY; n++) await enqueue(world, client, task, { key: String(n), orderingKey: `key-${n}` });
        await world.wait(1_000);
        const enqueuedAt = world.now();
        const taskId = await enqueue(world, client, task, { key: "without" });
        await world.broker.act("lose");
        world.worker("a", { tasks: [task], concurrency: 100 });
        await startsInTime(world, taskId, enqueuedAt);
        await world.wait(startedAt + 3_600_000 - world.now() - 1);
        assert.equal(runs(), 1);
        await world.until(() => runs() === 1 + MANY, { withinMs: latestStartMs(world) });
      },
    },
    {
      name: "a count that the broker refuses is said once; with the count back, the lost task is rung",
      needs: ["time", "faults"],
      unless: unlessAble("lose", "count visible"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await world.broker.act("lose", taskId);
        const denied = new LeaseholdError("PermissionDenied", "played: no permission to count");
        const worker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "queue.countVisible", fault: { error: denied }, times: Number.POSITIVE_INFINITY }],
        });
        await world.wait(4 * world.timing.recoverAfterMs);
        expectFacts(await world.record(taskId), { status: "queued" });
        assert.equal(worker.log.filter((line) => line.includes("cannot be counted")).length, 1);
        worker.heal();
        await world.reaches(taskId, "settled", { withinMs: latestStartMs(world) });
      },
    },
    {
      name: "a look that is never answered does not end recovery",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const calls = ["store.dueForCheck", "store.get", "store.moveCheck", "queue.countVisible", "queue.send"];
        for (const on of calls) {
          const taskId = await enqueue(world, world.client(), task, { key: on });
          await world.broker.act("lose", taskId);
          const worker = world.worker(on, { tasks: [task], faults: [{ on, fault: { hang: "before" } }] });
          await world.reaches(taskId, "settled", { withinMs: 4 * latestStartMs(world) });
          await worker.stop();
        }
      },
    },
  ],
};
