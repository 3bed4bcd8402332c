import assert from "node:assert/strict";
import { RetryableError } from "@leasehold/core";
import { sleep } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { Fault, LifecycleHarness, PlayedWorker, World } from "./harness.ts";
import { abandonDelays, counted, enqueue, expectFacts, expectQueueEmpty, unlessAble } from "./support.ts";

/** An extension without an answer is given up after 10 s: the handler ends a little later. */
const ENDS_AFTER_MS = 11_500;
const RETRY_AFTER_MS = 6_000;

interface Played {
  readonly worker: PlayedWorker;
  readonly taskId: string;
  readonly runs: () => number;
  /** Starts of its attempts, from when the first ended, ms. */
  readonly starts: readonly number[];
}

/** A task whose first attempt fails while an extension is under way that this happens to. */
async function failDuringExtension(world: World, fault: Fault): Promise<Played> {
  let failedAt = 0;
  const starts: number[] = [];
  const extending = (): boolean => worker.calls.some(({ name }) => name === "queue.extend");
  const { task, runs } = counted(world, async (context) => {
    starts.push(failedAt === 0 ? 0 : world.now() - failedAt);
    if (context.attempt > 1) return;
    await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "3h" });
    while (!extending()) await sleep(worker.clock, 250, context.signal);
    await sleep(worker.clock, ENDS_AFTER_MS, context.signal);
    failedAt = world.now();
    throw new RetryableError("the model is busy", { retryAfterMs: RETRY_AFTER_MS });
  });
  const taskId = await enqueue(world, world.client(), task);
  const worker: PlayedWorker = world.worker("a", {
    tasks: [task],
    recovery: false,
    faults: [{ on: "queue.extend", fault }],
  });
  return { worker, taskId, runs, starts };
}

/** What the broker was asked for a delivery, and does later than the worker expects. */
export const brokerLeases: Suite<LifecycleHarness> = {
  subject: "broker leases",
  cases: [
    {
      name: "an extension that is applied late does not hide what was given back: the abandon waits for it",
      unless: unlessAble("delay an abandon"),
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { worker, taskId, runs, starts } = await failDuringExtension(world, { delayMs: 15_000 });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2, attempts_total: 2 });
        assert.equal(abandonDelays(worker).length, 1);
        const [, secondMs = Number.NaN] = starts;
        assert.ok(secondMs >= RETRY_AFTER_MS && secondMs <= RETRY_AFTER_MS + 15_000, `again after ${secondMs} ms`);
        assert.equal(runs(), 2);
        await expectQueueEmpty(world);
      },
    },
    {
      name: "an extension that is never answered: nothing is given back, the broker's lease runs out instead",
      unless: unlessAble("delay an abandon"),
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { worker, taskId, runs } = await failDuringExtension(world, { hang: "before" });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2, attempts_total: 2 });
        assert.deepEqual(abandonDelays(worker), []);
        assert.equal(worker.deliveries.length, 2);
        assert.equal(runs(), 2);
        await expectQueueEmpty(world);
      },
    },
    {
      name: "an extension that is never answered holds up no complete",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world, async (context) => {
          await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "3h" });
          while (!worker.calls.some(({ name }) => name === "queue.extend"))
            await sleep(worker.clock, 250, context.signal);
          await sleep(worker.clock, ENDS_AFTER_MS, context.signal);
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker: PlayedWorker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "queue.extend", fault: { hang: "before" } }],
        });
        await world.reaches(taskId, "settled");
        const settledAt = world.now();
        await expectQueueEmpty(world);
        assert.ok(world.now() - settledAt <= 1_000, `${world.now() - settledAt} ms later`);
      },
    },
  ],
};
