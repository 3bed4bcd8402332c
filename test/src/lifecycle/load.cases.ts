import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { type Context, expectQueueEmpty, taskOf, unlessAble } from "./support.ts";

const TASKS = 10_000;

/** Collects all that nobody can reach any more. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Many tasks leave nothing behind. */
export const load: Suite<LifecycleHarness> = {
  subject: "load",
  cases: [
    {
      name: "10,000 tasks: no timer or handle is left, and nothing of a finished task is kept",
      needs: ["time"],
      unless: unlessAble("many tasks"),
      async run(harness) {
        const world = await harness.open();
        const handles = process.getActiveResourcesInfo().sort();
        const contexts: WeakRef<Context>[] = [];
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            contexts.push(new WeakRef(context));
            // One in ten makes an effect, one in ten fails once.
            if (context.input.n % 10 === 0) return context.effect(publish, {});
            if (context.input.n % 10 === 1 && context.attempt === 1) throw new Error("boom");
            return context.input.n;
          },
        });
        const { client } = world.client();
        for (let n = 0; n < TASKS; n += 100) {
          const batch = Array.from({ length: 100 }, (_, index) =>
            client.enqueue(task, { n: n + index }, { key: String(n + index) }),
          );
          await world.until(Promise.all(batch));
        }
        const worker = world.worker("a", { tasks: [task], concurrency: 100 });
        await world.until(() => contexts.length === TASKS + TASKS / 10);
        await expectQueueEmpty(world);
        assert.equal(world.system.made(), TASKS / 10);
        await worker.stop();
        assert.deepEqual(worker.worker.state, { busy: 0, leases: 0, deliveries: 0, orphans: 0 });
        assert.deepEqual(process.getActiveResourcesInfo().sort(), handles);
        collectGarbage();
        const kept = contexts.filter((context) => context.deref() !== undefined).length;
        assert.ok(kept <= 100, `${kept} contexts of finished tasks are still held`);
      },
    },
  ],
};
