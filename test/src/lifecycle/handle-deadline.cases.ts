import assert from "node:assert/strict";
import type { Delivery } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, World } from "./harness.ts";
import { aborted, counted, enqueue, expectFacts, gate, ring } from "./support.ts";

async function take(world: World): Promise<Delivery> {
  const { leaseMs } = world.timing;
  const [delivery] = await world.until(world.queue.receive({ max: 1, waitMs: 1_000, leaseMs }));
  assert.ok(delivery !== undefined);
  return delivery;
}

const SLOW_ACQUIRE = [{ on: "store.acquire", fault: { answerDelayMs: 3_000 } }];

/** The caller of `handle` ends before the task does. */
export const handlingUntil: Suite<LifecycleHarness> = {
  subject: "worker.handle at its end",
  cases: [
    {
      name: "a signal that has aborted, and a deadline that has passed: given back without a look at the task",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        assert.equal(await world.until(worker.handle(await take(world), { signal: AbortSignal.abort() })), "retry");
        assert.equal(await world.until(worker.handle(await take(world), { deadlineMs: world.now() })), "retry");
        expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        assert.equal(runs(), 0);
        assert.equal(await world.until(worker.handle(await take(world))), "complete");
      },
    },
    {
      name: "a signal that aborts while the task is acquired: the handler does not run, and the attempt is given back",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false, faults: SLOW_ACQUIRE });
        const ending = new AbortController();
        const answer = worker.handle(await take(world), { signal: ending.signal });
        await world.wait(1_000);
        ending.abort();
        assert.equal(await world.until(answer), "retry");
        expectFacts(await world.record(taskId), { status: "released", attempt: 0, attempts_total: 1 });
        assert.equal(runs(), 0);
      },
    },
    {
      name: "a deadline that comes near while the task is acquired: likewise",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false, faults: SLOW_ACQUIRE });
        const delivery = await take(world);
        const deadlineMs = world.now() + 5_500;
        assert.equal(await world.until(worker.handle(delivery, { deadlineMs })), "retry");
        assert.ok(world.now() < deadlineMs);
        expectFacts(await world.record(taskId), { status: "released", attempt: 0 });
        assert.equal(runs(), 0);
      },
    },
    {
      name: "a call that is shorter than the last part of a stop: half of it is the handler's",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        let heardAt = 0;
        const { task } = counted(world, async (context) => {
          await aborted(context.signal);
          heardAt = world.now();
          throw context.signal.reason;
        });
        await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        const delivery = await take(world);
        const startedAt = world.now();
        assert.equal(await world.until(worker.handle(delivery, { deadlineMs: startedAt + 3_000 })), "retry");
        assert.equal(heardAt - startedAt, 1_500);
      },
    },
    {
      name: "a handler that ignores its signal: the task is given back before the deadline, and nothing is renewed after it",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task } = counted(world, (context) => (context.fence === 1 ? handler.wait() : "done"));
        const taskId = await enqueue(world, world.client(), task);
        const played = world.worker("a", { tasks: [task], runs: false });
        const { worker } = played;
        const deadlineMs = world.now() + 30_000;
        assert.equal(await world.until(worker.handle(await take(world), { deadlineMs })), "retry");
        assert.ok(world.now() <= deadlineMs);
        expectFacts(await world.record(taskId), { status: "released", attempt: 0 });
        const before = played.calls.length;
        await world.wait(3 * world.timing.leaseMs);
        assert.equal(played.calls.length, before);
        assert.equal(await world.until(worker.handle(await take(world))), "complete");
        const record = await world.record(taskId);
        expectFacts(record, { status: "settled", fence: 2 });
        handler.open();
        await world.wait(1_000);
        assert.deepEqual(await world.record(taskId), record, "what the first one returns is dropped");
        assert.equal(worker.state.busy, 0);
      },
    },
    {
      name: "the end of a call whose delivery was adopted does not end the first one's work",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task } = counted(world, () => handler.wait());
        const taskId = await enqueue(world, world.client(), task);
        await ring(world, taskId);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        const first = worker.handle(await take(world));
        await world.until(handler.reached);
        const deadlineMs = world.now() + 20_000;
        assert.equal(await world.until(worker.handle(await take(world), { deadlineMs })), "retry");
        expectFacts(await world.record(taskId), { status: "leased", fence: 1 });
        handler.open();
        assert.equal(await world.until(first), "complete");
        expectFacts(await world.record(taskId), { status: "settled", attempt: 1 });
      },
    },
    {
      name: "what is no delivery, or no deadline, is refused by name",
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        await enqueue(world, world.client(), task);
        const { worker } = world.worker("a", { tasks: [task], runs: false });
        const delivery = await take(world);
        const { leaseMs: _, ...unleased } = delivery;
        const refused = (message: RegExp) => ({ code: "InvalidArgument", message });
        await assert.rejects(worker.handle(unleased as Delivery), refused(/^handle\.delivery\.leaseMs: got nothing/));
        await assert.rejects(
          worker.handle({ ...delivery, leaseMs: Number.NaN }),
          refused(/^handle\.delivery\.leaseMs: got NaN/),
        );
        await assert.rejects(
          worker.handle({ ...delivery, token: undefined } as unknown as Delivery),
          refused(/^handle\.delivery\.token: got nothing/),
        );
        await assert.rejects(
          worker.handle(delivery, { deadlineMs: Number.NaN }),
          refused(/^handle\.deadlineMs: got NaN/),
        );
        assert.equal(await world.until(worker.handle(delivery)), "complete");
      },
    },
  ],
};
