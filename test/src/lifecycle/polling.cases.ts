import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { counted, expectQueueEmpty } from "./support.ts";

const TASKS = 300;

/** Receives go on as slots become free. */
export const polling: Suite<LifecycleHarness> = {
  subject: "polling",
  cases: [
    {
      name: "settles that are slower than the handlers hold the polls back, and do not end them",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const { client } = world.client();
        for (let n = 0; n < TASKS; n++) await world.until(client.enqueue(task, { n }, { key: String(n) }));
        const always = { times: Number.POSITIVE_INFINITY };
        const worker = world.worker("a", {
          tasks: [task],
          faults: [
            { on: "queue.receive", fault: { answerDelayMs: 5 }, ...always },
            { on: "queue.complete", fault: { answerDelayMs: 1_000 }, ...always },
          ],
        });
        await world.until(() => runs() === TASKS, { withinMs: 600_000 });
        await expectQueueEmpty(world);
        await worker.stop();
        assert.equal(runs(), TASKS);
      },
    },
  ],
};
