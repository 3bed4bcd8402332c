import assert from "node:assert/strict";
import { ParkError, PermanentError } from "@leasehold/core";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { commits, enqueue, expectFacts, expectQueueEmpty, raise, SETTLED, taskOf, unlessAble } from "./support.ts";

/** Tasks that ended and start anew. */
export const reopening: Suite<LifecycleHarness> = {
  subject: "an ended task starts anew",
  cases: [
    ...(["dead_lettered", "parked", "cancelled"] as const).map((status) => ({
      name: `reopen of a ${status} task: attempts from 0, effects stay, the passed deadline is dropped`,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        let gives = false;
        const client = world.client();
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            const receipt = await context.effect(publish, {});
            if (gives) return receipt;
            if (status === "cancelled") await client.client.cancel(context.id);
            throw status === "parked" ? new ParkError("ask") : new PermanentError("never works");
          },
        });
        const deadlineMs = world.now() + world.timing.leaseMs;
        const taskId = await enqueue(world, client, task, { deadline: new Date(deadlineMs) });
        world.worker("a", { tasks: [task] });
        const ended = await world.reaches(taskId, ({ status: now }) => now !== "leased" && now !== "queued");
        expectFacts(ended, {
          status: status === "cancelled" ? "dead_lettered" : status,
          effects: { publish: "verified" },
        });
        if (status === "cancelled") {
          await world.until(client.client.reopen(taskId));
          await world.until(client.client.cancel(taskId));
        }
        await world.wait(Math.max(deadlineMs - world.now(), 0) + harness.toleranceMs + 1);
        gives = true;
        const answer = await world.until(client.client.reopen(taskId));
        assert.equal(answer.outcome, "reopened");
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempt: 1 });
        assert.equal(record.deadline, undefined);
        assert.deepEqual([commits(world), world.system.made()], [1, 1]);
      },
    })),
    {
      name: "a settled task is never reopened",
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: () => "done" });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [task] });
        const settled = await world.reaches(taskId, "settled");
        assert.equal((await world.until(client.client.reopen(taskId))).outcome, "refused");
        assert.deepEqual(await world.record(taskId), settled);
      },
    },
    {
      name: "a dead letter moved back by hand reopens its task",
      unless: unlessAble("redrive by hand"),
      async run(harness) {
        const world = await harness.open();
        let broken = true;
        const task = taskOf(world, {
          run() {
            if (broken) throw new PermanentError("the model is gone");
            return "done";
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "dead_lettered"), { code: "permanent_error", attempt: 1 });
        await expectQueueEmpty(world);
        broken = false;
        assert.equal(await world.broker.redriveByHand(), 1);
        expectFacts(await world.reaches(taskId, "settled"), {
          attempt: 1,
          attempts_total: 2,
          fence: 2,
          code: undefined,
        });
        await expectQueueEmpty(world);
      },
    },
    {
      name: "a dead letter moved back by hand after the task was reopened otherwise is a plain duplicate",
      unless: unlessAble("redrive by hand"),
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: raise(new PermanentError("never works")) });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        // One at a time: side by side the second letter would be adopted by the run of the first.
        world.worker("a", { tasks: [task], concurrency: 1 });
        await world.reaches(taskId, "dead_lettered");
        await expectQueueEmpty(world);
        await world.until(client.client.reopen(taskId));
        const second = await world.reaches(taskId, ({ status, fence }) => status === "dead_lettered" && fence === 2);
        await expectQueueEmpty(world);
        // Of the two dead letters one is of the first life: it must not start a third.
        assert.equal(await world.broker.redriveByHand(), 2);
        await world.reaches(taskId, ({ status, fence }) => status === "dead_lettered" && fence === 3);
        await expectQueueEmpty(world);
        expectFacts(await world.record(taskId), { status: "dead_lettered", fence: 3 });
        assert.equal(second.fence, 2);
      },
    },
  ],
};
