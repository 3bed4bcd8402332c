import assert from "node:assert/strict";
import { isLeaseholdError } from "@leasehold/core";
import { parseTime, sleep } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker } from "./harness.ts";
import {
  aborted,
  type Context,
  counted,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  gate,
  SETTLED,
  taskOf,
} from "./support.ts";

const WAITING = { stage: "external_call", reason: "waiting for model batch result", budget: "3h" } as const;

/** Time that passes otherwise than it should. */
export const oddTimes: Suite<LifecycleHarness> = {
  subject: "time",
  cases: [
    ...(["settle", "release"] as const).map((end) => ({
      name: `a renewal in flight during ${end}: awaited, then the end is written, and nothing re-hides the message`,
      needs: ["time" as const, "faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        const { task, runs } = counted(world, async (context) => {
          if (context.fence > 1) return "done";
          await context.renew(WAITING);
          // The keeper's beat goes out at half the lease, and its answers take long.
          await sleep((worker as PlayedWorker).clock, leaseMs / 2 + 500);
          if (end === "release") throw new Error("boom");
          return "done";
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker: PlayedWorker = world.worker("a", {
          tasks: [task],
          faults: [
            { on: "store.renew", fault: { answerDelayMs: 5_000 }, skip: 1 },
            { on: "queue.extend", fault: { answerDelayMs: 5_000 }, times: 2 },
          ],
        });
        const ended = await world.reaches(taskId, ({ status }) => status === "settled" || status === "released");
        expectFacts(ended, { attempt: 1, fence: 1 });
        await world.reaches(taskId, "settled");
        await expectQueueEmpty(world);
        assert.equal(runs(), end === "settle" ? 1 : 2);
        const order = worker.calls.map(({ name }) => name);
        const settledAt = order.findIndex((name) => name === "queue.complete" || name === "queue.abandon");
        if (end === "settle") assert.ok(!order.slice(settledAt).includes("queue.extend"), order.join());
      },
    })),
    {
      name: "the event loop is blocked for two leases: lost by the clock, nothing is written late",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs, maxClockSkewMs } = world.timing;
        const reasons: string[] = [];
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            if (context.fence > 1) return context.effect(publish, {});
            await context.renew(WAITING);
            void aborted(context.signal).then((reason) => reasons.push(reason));
            await sleep((first as PlayedWorker).clock, leaseMs / 4);
            return context.effect(publish, {});
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const first: PlayedWorker = world.worker("a", { tasks: [task], recovery: false });
        await world.reaches(taskId, ({ stage }) => stage === "external_call");
        first.time.pause();
        const calls = first.calls.length;
        await world.wait(2 * leaseMs);
        first.time.resume();
        await world.wait(0);
        assert.deepEqual(
          first.calls
            .slice(calls)
            .filter(({ name }) => name.startsWith("store."))
            .map(({ name }) => name),
          [],
        );
        assert.deepEqual(reasons, ["expired"]);
        assert.equal(world.system.made(), 0);
        expectFacts(await world.record(taskId), { status: "leased", fence: 1 });
        await world.wait(maxClockSkewMs);
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        assert.equal(world.system.made(), 1);
      },
    },
    {
      name: "the event loop is blocked for less than what is left: the lease is renewed and kept",
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
        const worker: PlayedWorker = world.worker("a", { tasks: [task] });
        await world.reaches(taskId, ({ stage }) => stage === "external_call");
        worker.time.pause();
        await world.wait(0.75 * leaseMs);
        worker.time.resume();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
      },
    },
    ...(["suspend", "jump"] as const).map((what) => ({
      name: `${what === "suspend" ? "the machine sleeps" : "the wall clock jumps"} for longer than the lease: the signal aborts although little time has passed by the other clock`,
      needs: ["time" as const, "faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        let heardAfterMs = Number.NaN;
        const reasons: string[] = [];
        const task = taskOf(world, {
          async run(context: Context) {
            if (context.fence > 1) return "second";
            await context.renew(WAITING);
            const started = (first as PlayedWorker).clock.monotonic();
            reasons.push(await aborted(context.signal));
            heardAfterMs = (first as PlayedWorker).clock.monotonic() - started;
            throw new Error("over");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const first: PlayedWorker = world.worker("a", { tasks: [task], recovery: false });
        const before = await world.reaches(taskId, ({ stage }) => stage === "external_call");
        if (what === "suspend") {
          first.time.suspendMonotonic(2 * leaseMs);
          await world.wait(2 * leaseMs);
        } else first.time.jumpWall(2 * leaseMs);
        await world.until(() => reasons.length > 0);
        assert.deepEqual(reasons, ["expired"]);
        assert.ok(heardAfterMs <= 6_000, `heard after ${heardAfterMs} ms of its own time`);
        assert.deepEqual(await world.record(taskId), before, "nothing was written");
        first.crash();
        const second = world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2 });
        await second.stop();
      },
    })),
    {
      name: "the wall clock jumps back: the lease is judged by the other clock, and kept alive",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        const { task } = counted(world, async (context) => {
          await context.renew(WAITING);
          await sleep((worker as PlayedWorker).clock, leaseMs / 4);
          return "done";
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker: PlayedWorker = world.worker("a", { tasks: [task] });
        await world.reaches(taskId, ({ stage }) => stage === "external_call");
        worker.time.jumpWall(-1_000);
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
      },
    },
    {
      name: "the signal aborts before another worker may start",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        let heardAt = Number.POSITIVE_INFINITY;
        const task = taskOf(world, {
          async run(context) {
            if (context.fence > 1) return "second";
            await context.renew(WAITING);
            await aborted(context.signal);
            heardAt = world.now();
            throw new Error("over");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const first = world.worker("a", { tasks: [task], recovery: false });
        await world.reaches(taskId, ({ stage }) => stage === "external_call");
        first.fault("store.", { hang: "before" }, { times: Number.POSITIVE_INFINITY });
        world.worker("b", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { attempt: 2 });
        assert.ok(heardAt < parseTime(record.acquired_at as string), "heard in time");
        first.heal();
      },
    },
    {
      name: "a handler that ignores its signal keeps its slot; after hungAfter the run rejects",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task, runs } = counted(world, async (context) => {
          if (context.fence === 1) await handler.wait();
          return "done";
        });
        const taskId = await enqueue(world, world.client(), { ...task, stages: { preflight: { budget: 30_000 } } });
        const definition = { ...task, stages: { preflight: { budget: 30_000 } } };
        const worker = world.worker("a", { tasks: [definition], concurrency: 1, hungAfter: "5m" });
        await world.reaches(taskId, "released");
        const goneAt = world.now();
        const failure = await world.until(
          worker.running.then(
            () => "resolved",
            (error: unknown) => error,
          ),
        );
        assert.ok(isLeaseholdError(failure, "Hung"), String(failure));
        assert.match((failure as Error).message, new RegExp(taskId));
        // Then the others are given the time of a stop.
        const afterMs = world.now() - goneAt;
        assert.ok(afterMs >= 300_000 && afterMs <= 326_000, `after ${afterMs} ms`);
        assert.equal(runs(), 1);
        worker.crash();
        world.worker("b", { tasks: [definition] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2 });
      },
    },
    {
      name: "with hungAfter off an orphan is only counted",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task } = counted(world, async (context) => {
          if (context.fence === 1) await handler.wait();
          return "done";
        });
        const definition = { ...task, stages: { preflight: { budget: 30_000 } } };
        const taskId = await enqueue(world, world.client(), definition);
        const worker = world.worker("a", { tasks: [definition], concurrency: 2, hungAfter: false });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2 });
        await world.wait(3_600_000);
        assert.equal(worker.worker.state.orphans, 1);
        handler.open();
        await world.until(() => worker.worker.state.orphans === 0);
        expectFacts(await world.record(taskId), { status: "settled", attempt: 2 });
      },
    },
  ],
};
