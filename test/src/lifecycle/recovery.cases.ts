import assert from "node:assert/strict";
import { parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker, World } from "./harness.ts";
import {
  counted,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  gate,
  ONE_ATTEMPT,
  raise,
  taskOf,
  UNREACHABLE,
  unlessAble,
} from "./support.ts";

const rings = (worker: PlayedWorker): number => worker.calls.filter(({ name }) => name === "queue.send").length;

/**
 * The latest that a due task starts after its time when its queue is empty: it is looked at from `recoverAfterMs` on, and then
 * within `recoverAfterMs` and two leases.
 */
const latestStartMs = (world: World): number => 2 * world.timing.recoverAfterMs + 2 * world.timing.leaseMs;

/** No task is lost with its message. */
export const recovery: Suite<LifecycleHarness> = {
  subject: "recovery",
  cases: [
    {
      name: "the record is written and the message cannot be sent: enqueue says so, and the task is rung",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const client = world.client({
          faults: [{ on: "queue.send", fault: { error: UNREACHABLE }, times: Number.POSITIVE_INFINITY }],
        });
        const outcome = await world.until(client.client.enqueue(task, { n: 1 }, { key: "one" }));
        assert.equal(outcome.outcome, "created");
        assert.deepEqual(
          "delivery" in outcome && [
            outcome.delivery,
            outcome.delivery === "left_to_recovery" && outcome.sendError?.code,
          ],
          ["left_to_recovery", "Unavailable"],
        );
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(outcome.task.task_id, "settled"), { attempt: 1, attempts_total: 1 });
        assert.equal(runs(), 1);
      },
    },
    {
      name: "the same key again rings a task that was never delivered",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const client = world.client({
          faults: [{ on: "queue.send", fault: { error: UNREACHABLE }, times: Number.POSITIVE_INFINITY }],
        });
        await world.until(client.client.enqueue(task, { n: 1 }, { key: "one" }));
        client.heal();
        const again = await world.until(client.client.enqueue(task, { n: 1 }, { key: "one" }));
        assert.equal(again.outcome, "rung_again");
        world.worker("a", { tasks: [task], recovery: false });
        await world.reaches(again.task.task_id, "settled");
        assert.equal((await world.until(client.client.enqueue(task, { n: 1 }, { key: "one" }))).outcome, "existing");
      },
    },
    ...(["lose", "dead-letter by count"] as const).map((act) => ({
      name: `the message is gone (${act}) while the task waits: it starts in time`,
      needs: ["time" as const],
      unless: unlessAble(act),
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { task } = counted(world);
        const enqueuedAt = world.now();
        const taskId = await enqueue(world, world.client(), task);
        await world.broker.act(act, taskId);
        const worker = world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { attempt: 1, attempts_total: 1 });
        const afterMs = parseTime(record.acquired_at as string) - enqueuedAt;
        assert.ok(
          afterMs >= world.timing.recoverAfterMs && afterMs <= latestStartMs(world),
          `started after ${afterMs} ms`,
        );
        assert.equal(rings(worker), 1);
      },
    })),
    {
      name: "the broker let the message expire: the task is rung",
      needs: ["time"],
      unless: unlessAble("short retention"),
      async run(harness) {
        // Pub/Sub keeps a message for ten minutes or more.
        const keepMs = 600_000;
        const world = await harness.open({ keepMs });
        const { task } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await world.wait(keepMs + 1);
        const worker = world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
        assert.equal(rings(worker), 1);
      },
    },
    {
      name: "the message of a released task is gone: it starts in time",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, {
          run(context) {
            if (context.fence === 1) throw new Error("boom");
            return "done";
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const first = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        const released = await world.reaches(taskId, "released");
        await world.until(() => first.calls.some(({ name }) => name === "queue.abandon" || name === "queue.complete"));
        first.crash();
        const { visible, leased, delayed } = await world.broker.counts();
        if (visible + leased + delayed > 0) await world.broker.act("lose");
        world.worker("b", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { attempt: 2, attempts_total: 2 });
        const afterMs = parseTime(record.acquired_at as string) - parseTime(released.not_before as string);
        assert.ok(
          afterMs >= world.timing.recoverAfterMs && afterMs <= latestStartMs(world),
          `started after ${afterMs} ms`,
        );
      },
    },
    {
      name: "holder and message are gone: the lapsed lease is counted once, and the task is rung",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const task = taskOf(world, {
          async run(context) {
            if (context.fence === 1) await handler.wait();
            return "done";
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const first = world.worker("a", { tasks: [task] });
        await world.until(handler.reached);
        await world.broker.act("lose", taskId);
        first.crash();
        const second = world.worker("b", {
          tasks: [task],
          faults: [{ on: "store.acquire", fault: { error: UNREACHABLE }, times: 3 }],
        });
        const rung = await world.reaches(taskId, ({ expiry_counted }) => expiry_counted === 1);
        expectFacts(rung, { status: "leased", fence: 1 });
        expectFacts(await world.reaches(taskId, "settled"), {
          attempt: 2,
          log: [
            ["expired", "preflight"],
            ["settled", "preflight"],
          ],
        });
        assert.equal(rings(second), 1);
      },
    },
    {
      name: "a live lease is never rung, however long it runs",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const task = taskOf(world, {
          async run(context) {
            await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "3h" });
            await handler.wait();
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const holder = world.worker("a", { tasks: [task] });
        await world.until(handler.reached);
        const other = world.worker("b", { tasks: [task] });
        await world.wait(2 * 3_600_000);
        assert.deepEqual([rings(holder), rings(other)], [0, 0]);
        expectFacts(await world.record(taskId), { status: "leased", fence: 1 });
        handler.open();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
      },
    },
    {
      name: "a crash between the move of check_at and the ring is the next check's",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await world.broker.act("lose", taskId);
        const dies = world.worker("a", { tasks: [task], faults: [{ on: "queue.send", fault: { crash: "before" } }] });
        const before = await world.record(taskId);
        await world.until(() => dies.dead);
        const moved = await world.record(taskId);
        assert.ok((moved.check_at as string) > (before.check_at as string));
        expectFacts(moved, { status: "queued", fence: 0 });
        world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1 });
      },
    },
    {
      name: "recovery that is switched off rings nothing; one pass on demand does",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await world.broker.act("lose", taskId);
        const worker = world.worker("a", { tasks: [task], recovery: false });
        await world.wait(4 * world.timing.recoverAfterMs);
        expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        assert.equal(rings(worker), 0);
        assert.equal(await world.until(worker.worker.recoverOnce({ maxMs: 10_000 })), 1);
        await world.reaches(taskId, "settled");
        assert.equal(await world.until(worker.worker.recoverOnce({ maxMs: 10_000 })), 0);
      },
    },
    {
      name: "a type that the worker does not know is not rung",
      needs: ["time", "faults"],
      unless: unlessAble("lose"),
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await world.broker.act("lose", taskId);
        const worker = world.worker("a", {
          tasks: [taskOf(world, { type: "another", run: raise(new Error("never")) })],
        });
        await world.wait(4 * world.timing.recoverAfterMs);
        assert.equal(rings(worker), 0);
        expectFacts(await world.record(taskId), { status: "queued" });
      },
    },
    {
      name: "at 90 % of the broker's ceiling the message is completed and the lease lives on; a release rings",
      needs: ["time", "faults"],
      unless: unlessAble("total lease"),
      async run(harness) {
        const totalLeaseMs = 600_000;
        const world = await harness.open({ totalLeaseMs });
        const handler = gate();
        const heard: string[] = [];
        const startedAt = world.now();
        const task = taskOf(world, {
          async run(context) {
            if (context.fence > 1) return "done";
            context.signal.addEventListener("abort", () => heard.push("aborted"));
            await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "3h" });
            await handler.wait();
            throw new Error("no answer");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task] });
        await expectQueueEmpty(world);
        const afterMs = world.now() - startedAt;
        assert.ok(Math.abs(afterMs - 0.9 * totalLeaseMs) <= 1_000, `completed after ${afterMs} ms`);
        assert.notEqual((await world.record(taskId)).check_at, undefined);
        await world.wait(2 * totalLeaseMs);
        expectFacts(await world.record(taskId), { status: "leased", fence: 1, stage: "external_call" });
        assert.deepEqual(heard, []);
        handler.open();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2, attempts_total: 2 });
        assert.equal(rings(worker), 1);
      },
    },
  ],
};
