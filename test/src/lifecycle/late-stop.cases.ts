import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { counted, enqueue, expectFacts, unlessAble } from "./support.ts";

/** What is under way when a worker stops, and comes too late. */
export const lateStops: Suite<LifecycleHarness> = {
  subject: "late in a stop",
  cases: [
    {
      name: "an acquire that is answered after the abort: the handler does not run, and the attempt is given back",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const worker = world.worker("a", {
          tasks: [task],
          stop: 4_000,
          faults: [{ on: "store.acquire", fault: { answerDelayMs: 3_000 } }],
        });
        const taskId = await enqueue(world, world.client(), task);
        await world.until(() => worker.calls.some(({ name }) => name === "store.acquire"));
        await worker.stop();
        expectFacts(await world.record(taskId), { status: "released", attempt: 0, attempts_total: 1 });
        assert.equal(runs(), 0);
        const startedAt = world.now();
        world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1 });
        assert.ok(world.now() - startedAt <= 1_000, "it was not held");
      },
    },
    {
      name: "an acquire that is answered after the stop: likewise",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const worker = world.worker("a", {
          tasks: [task],
          stop: 1_000,
          faults: [{ on: "store.acquire", fault: { answerDelayMs: 4_000 } }],
        });
        const taskId = await enqueue(world, world.client(), task);
        await world.until(() => worker.calls.some(({ name }) => name === "store.acquire"));
        await worker.stop();
        expectFacts(await world.record(taskId), { status: "leased", attempt: 1 });
        await world.wait(4_000);
        expectFacts(await world.record(taskId), { status: "released", attempt: 0 });
        assert.equal(runs(), 0);
        assert.deepEqual(worker.worker.state, { busy: 0, leases: 0, deliveries: 0, orphans: 0 });
      },
    },
    {
      name: "a look of recovery that is never answered does not hold the stop up",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const worker = world.worker("a", { tasks: [task] });
        worker.fault("store.dueForCheck", { hang: "before" });
        await world.until(() => worker.calls.some(({ name }) => name === "store.dueForCheck"));
        const startedAt = world.now();
        await worker.stop();
        assert.ok(world.now() - startedAt <= 25_000, `took ${world.now() - startedAt} ms`);
        await world.wait(30_000);
      },
    },
    {
      name: "recovery with much to do stops at the task that it looks at",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        for (let n = 0; n < 200; n++) await enqueue(world, world.client(), task, { key: String(n) });
        await world.broker.act("lose");
        const always = { times: Number.POSITIVE_INFINITY };
        const worker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "store.get", fault: { answerDelayMs: 2_000 }, ...always }],
        });
        await world.until(() => worker.calls.some(({ name }) => name === "store.get"));
        const rings = (): number => worker.calls.filter(({ name }) => name === "queue.send").length;
        const before = rings();
        const startedAt = world.now();
        await worker.stop();
        assert.ok(world.now() - startedAt <= 5_000, `took ${world.now() - startedAt} ms`);
        assert.ok(rings() - before <= 1, `${rings() - before} were rung meanwhile`);
      },
    },
    {
      name: "a handler that never ends leaves no timer behind once the worker has stopped",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world, () => new Promise(() => undefined));
        await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task] });
        await world.until(() => runs() === 1);
        await worker.stop();
        // The harness finds fault with timers that are left when it closes.
        assert.deepEqual(worker.worker.state, { busy: 1, leases: 0, deliveries: 0, orphans: 1 });
      },
    },
    {
      name: "run again with a handler that has hung since: it says so",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world, () => new Promise(() => undefined));
        await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], hungAfter: "5m" });
        await world.until(() => runs() === 1);
        await worker.stop();
        await world.wait(200_000);
        const startedAt = world.now();
        await assert.rejects(world.until(worker.worker.run({ signal: new AbortController().signal })), {
          code: "Hung",
        });
        assert.ok(world.now() - startedAt <= 130_000, "counted from when its lease was gone");
      },
    },
  ],
};
