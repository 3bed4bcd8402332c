import assert from "node:assert/strict";
import { sleep } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker } from "./harness.ts";
import { aborted, counted, enqueue, expectFacts, gate, taskOf } from "./support.ts";

const WAITING = { stage: "external_call", reason: "waiting for model batch result", budget: "3h" } as const;

/** A worker stops in order. */
export const stopping: Suite<LifecycleHarness> = {
  subject: "stop",
  cases: [
    {
      name: "nothing to do: resolves at once",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const worker = world.worker("a", { tasks: [task] });
        await world.wait(60_000);
        const startedAt = world.now();
        await worker.stop();
        assert.ok(world.now() - startedAt <= 1_000, `took ${world.now() - startedAt} ms`);
      },
    },
    {
      name: "a handler that ends within the stop time settles, and its lease is renewed meanwhile",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        const { task } = counted(world, async (context) => {
          await context.renew(WAITING);
          await sleep((worker as PlayedWorker).clock, 3 * leaseMs);
          return "done";
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker: PlayedWorker = world.worker("a", { tasks: [task], stop: 4 * leaseMs });
        await world.reaches(taskId, ({ stage }) => stage === "external_call");
        await worker.stop();
        expectFacts(await world.record(taskId), { status: "settled", attempt: 1 });
        const { visible, leased, delayed } = await world.broker.counts();
        assert.deepEqual([visible, leased, delayed], [0, 0, 0], "flushed before it resolves");
      },
    },
    {
      name: "a handler that goes on is aborted for the last five seconds and given back, with its attempt",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const stopMs = 25_000;
        let heardAt = 0;
        const { task, runs } = counted(world, async (context) => {
          if (context.fence > 1) return "done";
          await context.renew(WAITING);
          assert.equal(await aborted(context.signal), "shutdown");
          heardAt = world.now();
          throw context.signal.reason;
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], stop: stopMs });
        await world.reaches(taskId, ({ stage }) => stage === "external_call");
        const startedAt = world.now();
        await worker.stop();
        assert.equal(heardAt - startedAt, stopMs - 5_000);
        assert.ok(world.now() - startedAt <= stopMs);
        const record = await world.record(taskId);
        expectFacts(record, { status: "released", attempt: 0, attempts_total: 1, stage: "external_call" });
        assert.equal(record.not_before, record.updated_at);
        world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 2 });
        assert.equal(runs(), 2);
      },
    },
    {
      name: "a handler that ignores everything does not hold the stop up, and its task is given back",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task } = counted(world, async (context) => {
          if (context.fence > 1) return "done";
          await context.renew(WAITING);
          await handler.wait();
          return "late";
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task] });
        await world.reaches(taskId, ({ stage }) => stage === "external_call");
        const startedAt = world.now();
        await worker.stop();
        assert.ok(world.now() - startedAt <= 26_000, `took ${world.now() - startedAt} ms`);
        worker.crash();
        world.worker("b", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        assert.equal(record.result, '"done"');
        handler.open();
      },
    },
    {
      name: "what the open poll brings after the stop is given back unrun, for others at once",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const worker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "queue.receive", fault: { answerDelayMs: 3_000 }, times: 100 }],
        });
        await world.wait(5_000);
        const taskId = await enqueue(world, world.client(), task);
        await world.wait(1_000);
        await worker.stop();
        expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        assert.equal(runs(), 0);
        assert.equal(worker.deliveries.length, 1);
        const startedAt = world.now();
        world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1 });
        assert.ok(world.now() - startedAt <= 1_000, "it was not held");
      },
    },
    {
      name: "more than it can run: the rest was never taken",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task, runs } = counted(world, () => handler.wait());
        const client = world.client();
        for (let n = 1; n <= 5; n++) await enqueue(world, client, task, { key: String(n) });
        const worker = world.worker("a", { tasks: [task], concurrency: 2 });
        await world.until(() => runs() === 2);
        await world.wait(world.timing.leaseMs / 4);
        assert.equal(worker.deliveries.length, 2, "no more than its free slots");
        handler.open();
        await worker.stop();
        assert.ok(runs() <= 4);
        const { visible, leased } = await world.broker.counts();
        assert.deepEqual([visible + worker.deliveries.length, leased], [5, 0]);
      },
    },
    {
      name: "a second run while it runs is refused; a stopped worker may run again",
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const worker = world.worker("a", { tasks: [task] });
        await assert.rejects(world.until(worker.worker.run({ signal: new AbortController().signal })), {
          code: "Conflict",
        });
        await worker.stop();
        const again = new AbortController();
        const running = worker.worker.run({ signal: again.signal });
        const taskId = await enqueue(world, world.client(), task);
        await world.reaches(taskId, "settled");
        again.abort();
        await world.until(running);
      },
    },
    {
      name: "shutdowns give the attempt back ten times, then they count",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, {
          attempts: 3,
          async run(context) {
            await aborted(context.signal);
            throw context.signal.reason;
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const attempts: number[] = [];
        for (let count = 1; count <= 12; count++) {
          const worker = world.worker(`w${count}`, { tasks: [task], stop: 2_000 });
          await world.reaches(taskId, ({ status, fence }) => status === "leased" && fence === count);
          await worker.stop();
          const record = await world.record(taskId);
          expectFacts(record, { status: "released", attempts_total: count });
          attempts.push(record.attempt);
        }
        assert.deepEqual(attempts, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
      },
    },
  ],
};
