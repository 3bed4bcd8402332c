import assert from "node:assert/strict";
import type { Case, Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { commits, enqueue, expectFacts, expectQueueEmpty, type Facts, STARTED, taskOf } from "./support.ts";
import type { EndpointKind } from "./system.ts";

/** Why the task must end although its effect is open. */
type Cause = "deadline" | "cancel" | "cancel while released";

interface Row {
  readonly kind: EndpointKind;
  /** What the worker that ends the task finds. `undeclared`: it does not know the effect. */
  readonly finds: "it there" | "nothing" | "no answer" | "undeclared";
  /** `the end`: the one that the cause asks for. */
  readonly end: "the end" | "effect_unresolved" | "effect_unreadable";
  readonly effect: Facts["effects"][string];
}

const ROWS: readonly Row[] = [
  { kind: "idempotent", finds: "it there", end: "the end", effect: "verified" },
  { kind: "idempotent", finds: "nothing", end: "the end", effect: "failed" },
  { kind: "deterministic", finds: "nothing", end: "the end", effect: "failed" },
  { kind: "searchable", finds: "it there", end: "the end", effect: "verified" },
  { kind: "searchable", finds: "nothing", end: "effect_unresolved", effect: "started" },
  { kind: "unreadable", finds: "nothing", end: "effect_unresolved", effect: "started" },
  { kind: "idempotent", finds: "no answer", end: "effect_unreadable", effect: "started" },
  { kind: "idempotent", finds: "undeclared", end: "effect_unresolved", effect: "started" },
];

function rowCase(cause: Cause, row: Row): Case<LifecycleHarness> {
  return {
    name: `${cause}, ${row.kind} endpoint, the readback finds ${row.finds}: ${row.end}`,
    needs: ["faults"],
    async run(harness) {
      const world = await harness.open();
      const { leaseMs } = world.timing;
      const publish = world.system.effect(row.kind);
      const task = taskOf(world, { effects: [publish], run: (context) => context.effect(publish, {}) });
      const deadline = world.now() + leaseMs / 2;
      const client = world.client();
      const taskId = await enqueue(world, client, task, cause === "deadline" ? { deadline: new Date(deadline) } : {});

      const there = row.finds === "it there";
      if (cause === "cancel while released") {
        // The commit fails without an answer, and nothing is shown until the attempt has ended.
        world.system.next("commit", there ? { failAfter: new Error("lost") } : { refuse: new Error("lost") });
        world.system.next("find", { refuse: new Error("503") }, { refuse: new Error("503") });
        const first = world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "released"), { ...STARTED });
        first.crash();
      } else {
        const at = there
          ? ({ on: "store.recordCommitted", fault: { crash: "before" } } as const)
          : ({ on: "store.beginEffect", fault: { crash: "after" } } as const);
        const onReceipt = { on: "store.recordReceipt", fault: { crash: "before" } } as const;
        const first = world.worker("a", { tasks: [task], faults: there ? [at, onReceipt] : [at] });
        await world.until(() => first.dead);
      }
      expectFacts(await world.record(taskId), { ...STARTED });
      if (cause === "deadline") await world.wait(Math.max(deadline - world.now(), 0) + harness.toleranceMs + 1);
      else {
        const answer = await world.until(client.client.cancel(taskId, { reason: "not wanted" }));
        assert.equal(answer.outcome, "requested");
      }
      const sent = commits(world);
      if (row.finds === "no answer")
        world.system.next("find", ...Array.from({ length: 4 }, () => ({ refuse: new Error("503") })));
      const ending = row.finds === "undeclared" ? taskOf(world, { run: () => assert.fail("it must not run") }) : task;
      world.worker("b", { tasks: [ending] });
      const end = endOf(cause, row);
      const record = await world.reaches(taskId, end.status);
      expectFacts(record, end);
      // Three releases in a row that could not read it back, then a person.
      if (row.finds === "no answer") expectFacts(record, { fence: 5 });
      if (row.effect === "verified" && end.status === "dead_lettered")
        assert.match(record.end_reason ?? "", /publish is in blog as thing-1/);
      assert.equal(commits(world), sent, "nothing is committed to end a task");
      await expectQueueEmpty(world);
    },
  };
}

function endOf(cause: Cause, row: Row): Partial<Facts> & { readonly status: Facts["status"] } {
  const effects = { publish: row.effect };
  if (row.end !== "the end") return { status: "parked", code: row.end, effects, open: 1, stage: "commit" };
  const end =
    cause === "deadline"
      ? ({ status: "dead_lettered", code: "deadline_passed" } as const)
      : ({ status: "cancelled", code: "cancelled" } as const);
  return { ...end, effects, open: 0 };
}

/** Ends that must not leave an effect unread. */
export const openEnds: Suite<LifecycleHarness> = {
  subject: "ends with an open effect",
  cases: [
    ...ROWS.map((row) => rowCase("deadline", row)),
    ...ROWS.map((row) => rowCase("cancel", row)),
    ...ROWS.filter(({ kind }) => kind === "idempotent").map((row) => rowCase("cancel while released", row)),
  ],
};
