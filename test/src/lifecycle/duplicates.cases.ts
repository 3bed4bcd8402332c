import assert from "node:assert/strict";
import { PermanentError, RetryableError } from "@leasehold/core";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker } from "./harness.ts";
import {
  abandonDelays,
  counted,
  deadLetterCodes,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  gate,
  ONE_ATTEMPT,
  ring,
  unlessAble,
} from "./support.ts";

/** Tokens of the deliveries that a process has done this with. */
function tokensOf(process: PlayedWorker, verb: "complete" | "abandon" | "dead-letter" | "extend"): readonly string[] {
  return process.calls.flatMap(({ name, args }) => {
    const items =
      name.startsWith("queue.") && Array.isArray(args[0])
        ? (args[0] as readonly { readonly verb?: string; readonly delivery?: { readonly token: string } }[])
        : [];
    return items.flatMap((item) =>
      item.delivery !== undefined && (item.verb ?? name.slice("queue.".length)) === verb ? [item.delivery.token] : [],
    );
  });
}

/** More deliveries of one task than there should be. */
export const duplicates: Suite<LifecycleHarness> = {
  subject: "duplicates",
  cases: [
    {
      name: "another message about a task that this worker runs is adopted: kept, and completed with the first",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task, runs } = counted(world, async (context) => {
          await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "1h" });
          await handler.wait();
          return "done";
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], recovery: false });
        await world.until(handler.reached);
        await ring(world, taskId);
        await world.until(() => worker.deliveries.length === 2);
        await world.wait(3 * world.timing.leaseMs);
        assert.equal(worker.worker.state.deliveries, 2);
        assert.equal(worker.worker.state.leases, 1);
        const tokens = worker.deliveries.map(({ token }) => token).sort();
        assert.deepEqual([...new Set(tokensOf(worker, "extend"))].sort(), tokens, "both are extended");
        handler.open();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1, fence: 1 });
        await expectQueueEmpty(world);
        assert.deepEqual([...tokensOf(worker, "complete")].sort(), tokens);
        assert.deepEqual([worker.deliveries.length, runs()], [2, 1]);
      },
    },
    ...(["released", "dead_lettered"] as const).map((status) => ({
      name: `adopted deliveries of a task that is ${status}: one carries the end, the other is completed`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const handler = gate();
        const { task } = counted(world, async () => {
          await handler.wait();
          throw status === "released"
            ? new RetryableError("later", { retryAfterMs: world.timing.leaseMs })
            : new PermanentError("never works");
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], recovery: false, faults: ONE_ATTEMPT });
        await world.until(handler.reached);
        await ring(world, taskId);
        await world.until(() => worker.worker.state.deliveries === 2);
        handler.open();
        await world.reaches(taskId, status);
        const ends = (): readonly number[] =>
          (["complete", "abandon", "dead-letter"] as const).map((verb) => tokensOf(worker, verb).length);
        await world.until(() => ends().reduce((sum, count) => sum + count) >= 2);
        const { deadLetter, maxAbandonDelayMs } = world.queue.capabilities;
        const completed = status === "released" ? maxAbandonDelayMs === 0 : deadLetter === "store";
        assert.deepEqual(ends(), completed ? [2, 0, 0] : status === "released" ? [1, 1, 0] : [1, 0, 1]);
        if (status === "dead_lettered") assert.deepEqual(await deadLetterCodes(world), ["permanent_error"]);
      },
    })),
    {
      name: "the same message delivered once more to the same worker: adopted, run once",
      unless: unlessAble("duplicate"),
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task, runs } = counted(world, async () => handler.wait());
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task] });
        await world.until(handler.reached);
        await world.broker.act("duplicate", taskId);
        await world.until(() => worker.deliveries.length === 2);
        handler.open();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1, fence: 1 });
        await expectQueueEmpty(world);
        assert.equal(runs(), 1);
      },
    },
    {
      name: "two deliveries at once in one worker: one acquire, one run",
      unless: unlessAble("duplicate"),
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await world.broker.act("duplicate", taskId);
        const worker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "store.acquire", fault: { answerDelayMs: 200 } }],
        });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1, fence: 1 });
        await expectQueueEmpty(world);
        assert.equal(runs(), 1);
        assert.ok(worker.deliveries.length >= 2);
      },
    },
    {
      name: "a duplicate in another worker is put away, and completed unrun after the end",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const { task, runs } = counted(world, async (context) => {
          await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "1h" });
          await handler.wait();
        });
        const taskId = await enqueue(world, world.client(), task);
        const first = world.worker("a", { tasks: [task], concurrency: 1, recovery: false });
        await world.until(handler.reached);
        const second = world.worker("b", { tasks: [task], recovery: false });
        await ring(world, taskId);
        await world.until(() => second.deliveries.length > 0 && abandonDelays(second).length > 0);
        expectFacts(await world.record(taskId), { status: "leased", fence: 1 });
        handler.open();
        await world.reaches(taskId, "settled");
        await expectQueueEmpty(world);
        assert.equal(runs(), 1);
        assert.equal(first.deliveries.length, 1);
      },
    },
    {
      name: "the broker loses its lease early: the record is ours, the work goes on and settles once",
      unless: unlessAble("expire"),
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const heard: string[] = [];
        const { task, runs } = counted(world, async (context) => {
          context.signal.addEventListener("abort", () => heard.push("aborted"));
          await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "1h" });
          await handler.wait();
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task], concurrency: 1, recovery: false });
        await world.until(handler.reached);
        const second = world.worker("b", { tasks: [task], recovery: false });
        await world.broker.act("expire", taskId);
        await world.until(() => abandonDelays(second).length > 0);
        await world.wait(3 * world.timing.leaseMs);
        handler.open();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1, fence: 1 });
        await expectQueueEmpty(world);
        assert.deepEqual([runs(), heard], [1, []]);
      },
    },
    {
      name: "the handler settles its own message behind the worker's back: no abort, the task settles",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const heard: string[] = [];
        const { task, runs } = counted(world, async (context) => {
          context.signal.addEventListener("abort", () => heard.push("aborted"));
          const [delivery] = worker.deliveries;
          assert.ok(delivery !== undefined);
          await world.queue.settle([{ verb: "complete", delivery }]);
          await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "1h" });
          await handler.wait();
        });
        const handler = gate();
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], recovery: false });
        await world.until(handler.reached);
        await world.wait(3 * world.timing.leaseMs);
        handler.open();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, fence: 1 });
        assert.deepEqual([runs(), heard], [1, []]);
      },
    },
    ...(["before", "after"] as const).map((when) => ({
      name: `the complete is lost ${when} it was applied: the duplicate is completed unrun`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "queue.complete", fault: { drop: when }, times: 4 }],
        });
        const settled = await world.reaches(taskId, "settled");
        await expectQueueEmpty(world);
        expectFacts(settled, { attempt: 1 });
        assert.deepEqual(await world.record(taskId), settled);
        assert.equal(runs(), 1);
        assert.ok(worker.calls.filter(({ name }) => name === "queue.complete").length > 1 || when === "after");
      },
    })),
  ],
};
