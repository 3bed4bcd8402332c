import assert from "node:assert/strict";
import { NotCommittedError } from "@leasehold/core";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import {
  commits,
  ENDED_ONCE,
  enqueue,
  expectFacts,
  finds,
  ONE_ATTEMPT,
  publishing,
  SETTLED,
  STARTED,
  taskOf,
  UNREACHABLE,
} from "./support.ts";
import type { EndpointKind } from "./system.ts";

const GONE = new Error("socket hang up");
const KINDS: readonly EndpointKind[] = ["idempotent", "deterministic", "searchable", "unreadable"];
const READABLE = KINDS.filter((kind) => kind !== "unreadable");
const GUARDED = ["idempotent", "deterministic"] as const;

/** Every row of the table of what a commit may come to. */
export const commitOutcomes: Suite<LifecycleHarness> = {
  subject: "what a commit comes to",
  cases: [
    {
      name: "answered, shown late: committed with its external id, read back with back-off, never committed again",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { showAfterMs: 5_000 });
        const task = publishing(world, "idempotent");
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, ({ effects }) => effects["publish"]?.state === "committed");
        expectFacts(record, { status: "leased", stage: "verify", effects: { publish: "committed" }, open: 1 });
        assert.equal(record.effects["publish"]?.external_id, "thing-1");
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1 });
        // At 0, 0.5, 1.5, 3.5 and 7.5 s.
        assert.deepEqual(world.system.calls, ["commit", "find", "find", "find", "find", "find"]);
      },
    },
    {
      name: "answered, not shown for long: released at verify, read back only by the attempts that follow",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { showAfterMs: 90_000 });
        // More attempts than short back-offs can use up before it is shown.
        const task = { ...publishing(world, "idempotent"), attempts: 20 };
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "released"), {
          stage: "verify",
          effects: { publish: "committed" },
          open: 1,
          attempt: 1,
        });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED });
        assert.equal(commits(world), 1);
        assert.equal(world.system.made(), 1);
      },
    },
    {
      name: "answered, never shown: no attempt commits again, and the last one parks",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { showAfterMs: Number.POSITIVE_INFINITY });
        const task = publishing(world, "idempotent");
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "parked"), {
          stage: "verify",
          effects: { publish: "committed" },
          open: 1,
        });
        assert.equal(commits(world), 1);
      },
    },
    {
      name: "verify that says no counts as not found and leads to no second commit",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        let content = false;
        const publish = {
          ...world.system.effect("idempotent"),
          verify: ({ id }: { readonly id: string }) => content && { externalId: id, status: "published" },
        };
        const task = taskOf(world, { effects: [publish], run: (context) => context.effect(publish, {}) });
        world.system.next("commit", { failAfter: GONE });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        expectFacts(await world.reaches(taskId, ENDED_ONCE), { status: "released", ...STARTED });
        content = true;
        worker.heal();
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        assert.equal(commits(world), 1);
      },
    },
    ...(["a list", "a throw"] as const).map((what) => ({
      name: `find that answers with ${what} counts as not found and leads to no second commit`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const odd =
          what === "a list" ? { answer: [{ id: "thing-1", key: "k", input: 1 }] } : { refuse: new Error("503") };
        world.system.next("commit", { refuse: GONE });
        // At the commit, at the end of the first attempt, before the second.
        world.system.next("find", odd, odd, odd);
        const task = publishing(world, "idempotent");
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        expectFacts(await world.reaches(taskId, ENDED_ONCE), { status: "released", ...STARTED });
        worker.heal();
        worker.fault("store.acquire", { error: UNREACHABLE }, { skip: 1, times: Number.POSITIVE_INFINITY });
        expectFacts(await world.reaches(taskId, ({ status, fence }) => fence === 2 && status !== "leased"), {
          status: "released",
          ...STARTED,
        });
        assert.equal(commits(world), 1, "the second attempt found nothing out");
        worker.heal();
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 3 });
        assert.equal(world.system.made(), 1);
      },
    })),
    ...KINDS.map((kind) => ({
      name: `nothing was sent (NotCommittedError): failed, and begun again, ${kind} endpoint`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        world.system.next("commit", { refuse: new NotCommittedError("refused before it was sent") });
        const task = publishing(world, kind);
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        expectFacts(await world.reaches(taskId, ENDED_ONCE), {
          status: "released",
          attempt: 1,
          effects: { publish: "failed" },
          open: 0,
        });
        assert.equal(finds(world), 0);
        worker.heal();
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempt: 2 });
        assert.equal(record.effects["publish"]?.begins, 2);
        assert.equal(world.system.made(), 1);
      },
    })),
    {
      name: "nothing was sent: the same attempt may call the effect again",
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { refuse: new NotCommittedError("refused before it was sent") });
        const publish = world.system.effect("searchable");
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            await assert.rejects(context.effect(publish, {}), NotCommittedError);
            return context.effect(publish, {});
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1 });
        assert.equal(world.system.made(), 1);
      },
    },
    ...READABLE.map((kind) => ({
      name: `unknown and found: verified in the same attempt, ${kind} endpoint`,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        world.system.next("commit", { failAfter: GONE });
        const task = publishing(world, kind);
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempt: 1 });
        assert.equal(record.effects["publish"]?.begins, 1);
        assert.equal(world.system.made(), 1);
      },
    })),
    ...GUARDED.map((kind) => ({
      name: `unknown and not found: committed again by the next attempt, ${kind} endpoint`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        world.system.next("commit", { refuse: GONE });
        const task = publishing(world, kind);
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        expectFacts(await world.reaches(taskId, ENDED_ONCE), { status: "released", ...STARTED, attempt: 1 });
        worker.heal();
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempt: 2 });
        assert.equal(record.effects["publish"]?.begins, 2);
        assert.equal(commits(world), 2);
        assert.equal(world.system.made(), 1);
      },
    })),
    {
      name: "a conflict (409) is read back: what an earlier attempt made is found",
      async run(harness) {
        const world = await harness.open();
        // Not shown until the second attempt has committed and got a conflict: at the commit, at the end, before the second.
        const notYet = { answer: undefined };
        world.system.next("commit", { failAfter: GONE });
        world.system.next("find", notYet, notYet, notYet);
        const task = publishing(world, "deterministic");
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        assert.equal(commits(world), 2);
        assert.equal(world.system.made(), 1);
      },
    },
    {
      name: "unknown and not found: past the window of the key the task parks",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { refuse: GONE });
        const task = publishing(world, "idempotent", { guard: { kind: "idempotent", windowMs: 600_000 } });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        await world.reaches(taskId, ENDED_ONCE);
        await world.wait(600_001);
        worker.heal();
        expectFacts(await world.reaches(taskId, "parked"), { code: "effect_unresolved", ...STARTED });
        assert.equal(commits(world), 1);
      },
    },
    ...(["searchable", "unreadable"] as const).map((kind) => ({
      name: `unknown and not found: nothing guards a second commit, so the task parks, ${kind} endpoint`,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        world.system.next("commit", { refuse: GONE });
        const task = publishing(world, kind);
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "parked"), { ...STARTED, attempt: 1 });
        assert.equal(commits(world), 1);
      },
    })),
    {
      name: "a system that cannot be read: the receipt says that the answer is all there is",
      async run(harness) {
        const world = await harness.open();
        const task = publishing(world, "unreadable");
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempt: 1 });
        assert.equal(record.settlement_receipt?.verified_by, "answer");
        assert.equal(finds(world), 0);
      },
    },
  ],
};
