import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { abandonDelays, counted, deadLetterCodes, enqueue, expectFacts, expectQueueEmpty } from "./support.ts";

/** Records that no worker can have written: their messages are kept until somebody has put them right. */
export const brokenRecords: Suite<LifecycleHarness> = {
  subject: "broken records",
  cases: [
    {
      name: "a counter that is no number: put away, never dead-lettered, and logged",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        const setAttempt = (attempt: string | number): Promise<unknown> =>
          world.items.update(`task#${taskId}`, { set: { attempt } }, { exists: "task_id" });
        await setAttempt("zero");
        const worker = world.worker("a", { tasks: [task], recovery: false });
        await world.until(() => abandonDelays(worker).length >= 2);
        const other = await enqueue(world, client, task, { key: "two" });
        expectFacts(await world.reaches(other, "settled"), { attempt: 1 });
        assert.deepEqual(await deadLetterCodes(world), []);
        assert.ok(
          worker.log.some((line) => line.includes("could not be acquired")),
          "the log says so",
        );
        await setAttempt(0);
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1 });
        assert.equal(runs(), 2);
        await expectQueueEmpty(world);
      },
    },
  ],
};
