import assert from "node:assert/strict";
import type { Case, Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { enqueue, expectFacts, type Facts, ONE_ATTEMPT, SETTLED, STARTED, taskOf } from "./support.ts";
import type { Behaviour, EndpointKind } from "./system.ts";

const LEASE_MS = 60_000;
/** The request ends with its caller, and nothing was applied. */
const ENDS_WITH_CALLER: Behaviour = { delayMs: 100 * LEASE_MS };
/** The request is applied long after its caller gave up waiting for it. */
const APPLIED_LATER: Behaviour = { delayMs: LEASE_MS, deaf: true };

interface Row {
  readonly cause: "cancel" | "deadline" | "shutdown";
  readonly kind: EndpointKind;
  readonly commit: Behaviour;
  readonly left: Partial<Facts> & { readonly status: Facts["status"] };
}

const failed = { effects: { publish: "failed" }, open: 0 } as const;
const verified = { effects: { publish: "verified" }, receipts: { publish: "thing-1" }, open: 0 } as const;
const parked = { status: "parked", code: "effect_unresolved", ...STARTED } as const;
const ROWS: readonly Row[] = [
  { cause: "cancel", kind: "idempotent", commit: ENDS_WITH_CALLER, left: { status: "cancelled", ...failed } },
  { cause: "cancel", kind: "idempotent", commit: APPLIED_LATER, left: { status: "cancelled", ...verified } },
  { cause: "cancel", kind: "searchable", commit: ENDS_WITH_CALLER, left: parked },
  { cause: "cancel", kind: "searchable", commit: APPLIED_LATER, left: { status: "cancelled", ...verified } },
  {
    cause: "deadline",
    kind: "idempotent",
    commit: ENDS_WITH_CALLER,
    left: { status: "dead_lettered", code: "deadline_passed", ...failed },
  },
  {
    cause: "deadline",
    kind: "idempotent",
    commit: APPLIED_LATER,
    left: { status: "dead_lettered", code: "deadline_passed", ...verified },
  },
  { cause: "deadline", kind: "searchable", commit: ENDS_WITH_CALLER, left: parked },
  { cause: "deadline", kind: "unreadable", commit: ENDS_WITH_CALLER, left: parked },
  // Not given back: an effect is open.
  {
    cause: "shutdown",
    kind: "idempotent",
    commit: ENDS_WITH_CALLER,
    left: { status: "released", attempt: 1, ...STARTED },
  },
];

function rowCase(row: Row): Case<LifecycleHarness> {
  const { cause, kind, commit, left } = row;
  return {
    name: `${cause} during a commit that is ${commit === APPLIED_LATER ? "applied later" : "not applied"}, ${kind} endpoint: ${left.status}, in the same attempt`,
    needs: ["time", "faults"],
    async run(harness) {
      const world = await harness.open();
      world.system.next("commit", commit);
      const publish = world.system.effect(kind);
      const task = taskOf(world, {
        lease: LEASE_MS,
        effects: [publish],
        run: (context) => context.effect(publish, {}),
      });
      const client = world.client();
      const deadline = new Date(world.now() + LEASE_MS / 2);
      const taskId = await enqueue(world, client, task, cause === "deadline" ? { deadline } : {});
      const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
      await world.reaches(taskId, ({ open_effects }) => open_effects === 1);
      await world.wait(1_000);
      if (cause === "cancel") await world.until(client.client.cancel(taskId));
      if (cause === "shutdown") await worker.stop();
      const record = await world.reaches(taskId, ({ status }) => status !== "leased");
      expectFacts(record, { fence: 1, attempts_total: 1, ...left });
    },
  };
}

/** An abort while an effect is under way: what the end finds out. */
export const openAborts: Suite<LifecycleHarness> = {
  subject: "aborts with an open effect",
  cases: [
    ...ROWS.map(rowCase),
    {
      name: "a cancel that comes with the answer of begin: nothing is sent",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("searchable");
        const client = world.client();
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            await client.client.cancel(context.id);
            return context.effect(publish, {});
          },
        });
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "cancelled"), { effects: { publish: "failed" }, open: 0, fence: 1 });
        assert.deepEqual(world.system.calls, []);
      },
    },
    {
      name: "after a shutdown with an open effect the next worker reads back",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { failAfter: new Error("reset") }, ENDS_WITH_CALLER);
        world.system.next("find", { delayMs: 10 * LEASE_MS });
        const publish = world.system.effect("searchable");
        const task = taskOf(world, {
          lease: LEASE_MS,
          effects: [publish],
          run: (context) => context.effect(publish, {}),
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task] });
        await world.reaches(taskId, ({ open_effects }) => open_effects === 1);
        await worker.stop();
        expectFacts(await world.record(taskId), { status: "released", attempt: 1, ...STARTED });
        world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        assert.equal(world.system.made(), 1);
      },
    },
  ],
};
