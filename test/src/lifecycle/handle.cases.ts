import assert from "node:assert/strict";
import type { Delivery } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker, World } from "./harness.ts";
import {
  aborted,
  counted,
  deadLetterCodes,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  gate,
  ring,
  taskOf,
} from "./support.ts";

/** Takes one message, as a push runtime does before it calls the worker. */
async function take(world: World): Promise<Delivery> {
  const [delivery] = await world.until(world.queue.receive({ max: 1, waitMs: 1_000, leaseMs: world.timing.leaseMs }));
  assert.ok(delivery !== undefined);
  return delivery;
}

const names = (worker: PlayedWorker): readonly string[] => worker.calls.map(({ name }) => name);

/** One delivery given from outside. */
export const handling: Suite<LifecycleHarness> = {
  subject: "worker.handle",
  cases: [
    {
      name: "complete: settled, and the driver was called before it returns",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const { worker, ...played } = world.worker("a", { tasks: [task], runs: false });
        const delivery = await take(world);
        assert.equal(await world.until(worker.handle(delivery)), "complete");
        expectFacts(await world.record(taskId), { status: "settled", attempt: 1 });
        assert.deepEqual(names(played as PlayedWorker), ["store.acquire", "store.settle", "queue.complete"]);
        const { visible, leased, delayed } = await world.broker.counts();
        assert.deepEqual([visible, leased, delayed, runs()], [0, 0, 0, 1]);
        assert.deepEqual(worker.state, { busy: 0, leases: 0, deliveries: 0, orphans: 0 });
      },
    },
    {
      name: "retry: released, and the message will come again",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world, (context) => {
          if (context.attempt === 1) throw new Error("boom");
          return "done";
        });
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        assert.equal(await world.until(worker.handle(await take(world))), "retry");
        expectFacts(await world.record(taskId), { status: "released", attempt: 1 });
        world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2 });
      },
    },
    {
      name: "a delivery of a settled task: complete, not run; one that cannot be read: complete, dead-lettered",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        await world.until(worker.handle(await take(world)));
        await ring(world, taskId);
        assert.equal(await world.until(worker.handle(await take(world))), "complete");
        assert.equal(runs(), 1);
        await world.until(world.queue.send([{ id: "odd", body: "no event", contentType: "text/plain" }]));
        assert.equal(await world.until(worker.handle(await take(world))), "complete");
        await expectQueueEmpty(world);
        assert.equal((await deadLetterCodes(world)).length, 1);
      },
    },
    {
      name: "five seconds before the deadline it acts as at a shutdown",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        let heardAt = 0;
        const { task } = counted(world, async (context) => {
          assert.equal(await aborted(context.signal), "shutdown");
          heardAt = world.now();
          throw context.signal.reason;
        });
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        const deadlineMs = world.now() + 30_000;
        assert.equal(await world.until(worker.handle(await take(world), { deadlineMs })), "retry");
        assert.equal(heardAt, deadlineMs - 5_000);
        expectFacts(await world.record(taskId), { status: "released", attempt: 0, attempts_total: 1 });
      },
    },
    {
      name: "a handler that ignores its signal does not hold it up past the deadline",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task } = counted(world, () => handler.wait());
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        const deadlineMs = world.now() + 30_000;
        assert.equal(await world.until(worker.handle(await take(world), { deadlineMs })), "retry");
        assert.ok(world.now() <= deadlineMs, `${world.now() - deadlineMs} ms late`);
        expectFacts(await world.record(taskId), { status: "released", attempt: 0 });
        assert.deepEqual(worker.state, { busy: 1, leases: 0, deliveries: 0, orphans: 1 });
        handler.open();
        await world.wait(1);
        assert.equal(worker.state.busy, 0);
      },
    },
    {
      name: "its signal ends it as a shutdown does",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world, async (context) => {
          await aborted(context.signal);
          throw context.signal.reason;
        });
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        const ending = new AbortController();
        const answer = worker.handle(await take(world), { signal: ending.signal });
        await world.wait(1_000);
        ending.abort();
        assert.equal(await world.until(answer), "retry");
        expectFacts(await world.record(taskId), { status: "released", attempt: 0 });
      },
    },
    {
      name: "an adopted delivery waits for the answer of the first",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task, runs } = counted(world, () => handler.wait());
        const taskId = await enqueue(world, world.client(), task);
        await ring(world, taskId);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        let answered = 0;
        const note = <T>(value: T): T => {
          answered += 1;
          return value;
        };
        const first = worker.handle(await take(world)).then(note);
        const second = worker.handle(await take(world)).then(note);
        await world.wait(world.timing.leaseMs / 2);
        assert.equal(answered, 0);
        handler.open();
        assert.deepEqual(await world.until(Promise.all([first, second])), ["complete", "complete"]);
        assert.equal(runs(), 1);
        await expectQueueEmpty(world);
        expectFacts(await world.record(taskId), { status: "settled", attempt: 1 });
      },
    },
    {
      name: "no loop runs: nothing is received and nothing recovered",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: () => "done" });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], runs: false });
        await world.wait(2 * world.timing.recoverAfterMs);
        assert.deepEqual(worker.calls, []);
        expectFacts(await world.record(taskId), { status: "queued" });
      },
    },
  ],
};
