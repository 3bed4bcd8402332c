import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { commits, enqueue, expectFacts, publishing, SETTLED, STARTED } from "./support.ts";

/** The write that comes before a commit. */
export const begins: Suite<LifecycleHarness> = {
  subject: "an effect begins",
  cases: [
    {
      name: "the answer of begin is lost once: the write is recognised, and one commit follows",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const task = publishing(world, "searchable");
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task], faults: [{ on: "store.beginEffect", fault: { drop: "after" } }] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempt: 1 });
        assert.equal(record.effects["publish"]?.begins, 1);
        assert.equal(world.system.made(), 1);
      },
    },
    ...(["idempotent", "searchable"] as const).map((kind) => ({
      name: `a begin that stays unclear is followed by no commit, ${kind} endpoint`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const task = publishing(world, kind);
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "store.beginEffect", fault: { drop: "after" }, times: Number.POSITIVE_INFINITY }],
        });
        await world.until(
          () => worker.worker.state.leases === 0 && worker.calls.some(({ name }) => name === "store.beginEffect"),
        );
        assert.deepEqual(world.system.calls, []);
        expectFacts(await world.record(taskId), { status: "leased", ...STARTED });
        worker.heal();
        const record = await world.reaches(taskId, kind === "idempotent" ? "settled" : "parked");
        expectFacts(
          record,
          kind === "idempotent" ? { ...SETTLED, attempt: 2 } : { ...STARTED, code: "effect_unresolved" },
        );
        assert.equal(world.system.made(), kind === "idempotent" ? 1 : 0);
      },
    })),
    {
      name: "the answer of begin takes longer than the lease: no commit",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const task = publishing(world, "idempotent");
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", {
          tasks: [task],
          recovery: false,
          faults: [
            {
              on: "store.beginEffect",
              fault: { answerDelayMs: world.timing.leaseMs + 1 },
              times: Number.POSITIVE_INFINITY,
            },
          ],
        });
        await world.reaches(taskId, ({ open_effects }) => open_effects === 1);
        await world.wait(world.timing.leaseMs + 2);
        assert.deepEqual(world.system.calls, []);
        worker.heal();
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        // Whatever is still under way arrives, and changes nothing.
        await world.wait(world.timing.leaseMs);
        assert.equal(commits(world), 1);
      },
    },
  ],
};
