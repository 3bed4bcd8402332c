import assert from "node:assert/strict";
import { NotCommittedError } from "@leasehold/core";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { commits, enqueue, expectFacts, finds, publishing, SETTLED, STARTED, taskOf, UNREACHABLE } from "./support.ts";

/** What may have been sent stays uncertain until it was read back, whatever happens in between. */
export const uncertainEffects: Suite<LifecycleHarness> = {
  subject: "uncertain effects",
  cases: [
    {
      name: "begun without a guard: a guard that a deploy gives it since does not make it safe to commit again",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const before = publishing(world, "searchable");
        const after = publishing(world, "searchable", { guard: "idempotent" });
        const client = world.client();
        const taskId = await enqueue(world, client, before);
        const dies = world.worker("a", {
          tasks: [before],
          faults: [{ on: "store.beginEffect", fault: { crash: "after" } }],
        });
        await world.until(() => dies.dead);
        world.worker("b", { tasks: [after] });
        expectFacts(await world.reaches(taskId, "parked"), { code: "effect_unresolved", ...STARTED });
        await world.until(client.client.resume(taskId, { decision: "retry", by: "ada" }));
        await world.reaches(taskId, (record) => record.status === "parked" && record.attempts_total >= 3);
        assert.equal(commits(world), 0);
        await world.until(client.client.resume(taskId, { decision: "commit-again", by: "ada" }));
        expectFacts(await world.reaches(taskId, "settled"), SETTLED);
        assert.equal(commits(world), 1);
      },
    },
    {
      name: "nothing was sent this time: what an earlier attempt may have sent stays open",
      async run(harness) {
        const world = await harness.open();
        const task = publishing(world, "deterministic");
        world.system.next("commit", { refuse: new Error("reset") }, { refuse: new NotCommittedError("no route") });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        const worker = world.worker("a", { tasks: [task] });
        worker.fault("store.acquire", { error: UNREACHABLE }, { skip: 2, times: Number.POSITIVE_INFINITY });
        const first = await world.reaches(
          taskId,
          (record) => record.effects["publish"]?.begins === 2 && record.status === "released",
        );
        expectFacts(first, STARTED);
        const looked = finds(world);
        worker.heal();
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, SETTLED);
        assert.ok(finds(world) > looked + 1, "it was read back before it was begun again");
        assert.equal(record.effects["publish"]?.first_begun_at, first.effects["publish"]?.first_begun_at);
      },
    },
    {
      name: "taken for not there at an end, and landed since: a reopened task finds it instead of making it again",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("searchable", { guard: "deterministic-id" });
        const task = taskOf(world, { effects: [publish], run: (context) => context.effect(publish, {}) });
        // It is applied, shows up late, and its answer is lost.
        const lateMs = 40 * world.timing.leaseMs;
        world.system.next("commit", { showAfterMs: lateMs, failAfter: new Error("reset") });
        const client = world.client();
        const deadline = new Date(world.now() + 2 * world.timing.leaseMs);
        const taskId = await enqueue(world, client, task, { deadline });
        world.worker("a", { tasks: [task] });
        world.system.next("find", {}, { delayMs: 2 * world.timing.leaseMs });
        expectFacts(await world.reaches(taskId, "dead_lettered"), { effects: { publish: "failed" }, open: 0 });
        await world.wait(lateMs);
        await world.until(client.client.reopen(taskId));
        expectFacts(await world.reaches(taskId, "settled"), SETTLED);
        assert.deepEqual([commits(world), world.system.made()], [1, 1]);
      },
    },
    {
      name: "a shared key that may have been used stands in the record, so that a person can decide",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const task = publishing(world, "searchable", { scope: "global", key: () => "invoice-7" });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [task], faults: [{ on: "store.claimKey", fault: { drop: "after" } }] });
        expectFacts(await world.reaches(taskId, "parked"), STARTED);
        assert.equal(commits(world), 0);
        await world.until(client.client.resume(taskId, { decision: "commit-again", by: "ada" }));
        expectFacts(await world.reaches(taskId, "settled"), SETTLED);
        assert.deepEqual([commits(world), world.system.made()], [1, 1]);
      },
    },
    {
      name: "the answer of a commit from which no id can be taken is an answer all the same",
      async run(harness) {
        const world = await harness.open();
        const task = publishing(world, "idempotent", {
          externalId: () => {
            throw new TypeError("no id in the answer");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1 });
        assert.equal(commits(world), 1);
      },
    },
    {
      name: "what verify answers names nothing: no receipt, until it does",
      async run(harness) {
        const world = await harness.open();
        let answers = 0;
        const task = publishing(world, "idempotent", {
          verify: () =>
            (++answers === 1
              ? { externalId: undefined, status: "there" }
              : { externalId: "1", status: "there" }) as never,
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        assert.equal(record.settlement_receipt?.external_id, "1");
        assert.ok(answers >= 2);
      },
    },
    {
      name: "a commit that failed without an answer, and cannot be read back: the record says what it said",
      async run(harness) {
        const world = await harness.open();
        const task = publishing(world, "unreadable");
        world.system.next("commit", { refuse: new Error("the line is dead") });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "parked");
        assert.match(record.end_reason ?? "", /the line is dead/);
      },
    },
    {
      name: "settledBy: on the last attempt too, its receipt settles the task whatever the handler throws after it",
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          effects: [publish],
          settledBy: "publish",
          attempts: 1,
          async run(context) {
            await context.effect(publish, {});
            throw new Error("after the fact");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1 });
      },
    },
  ],
};
