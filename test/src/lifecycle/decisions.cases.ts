import assert from "node:assert/strict";
import { isLeaseholdError, ParkError } from "@leasehold/core";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedClient, World } from "./harness.ts";
import {
  commits,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  publishing,
  SETTLED,
  STARTED,
  type TestTask,
  taskOf,
} from "./support.ts";
import type { EndpointKind } from "./system.ts";

interface Parked {
  readonly world: World;
  readonly task: TestTask;
  readonly client: PlayedClient;
  readonly taskId: string;
}

/** A task that was caught in commit, by a crash: nobody knows whether its effect is there, and a person must say. */
async function caughtInCommit(harness: LifecycleHarness, kind: EndpointKind, applied: boolean): Promise<Parked> {
  const world = await harness.open();
  const task = publishing(world, kind);
  const client = world.client();
  const taskId = await enqueue(world, client, task);
  const dies = world.worker("a", { tasks: [task], faults: [{ on: "store.beginEffect", fault: { crash: "after" } }] });
  await world.until(() => dies.dead);
  const worker = world.worker("b", { tasks: [task] });
  expectFacts(await world.reaches(taskId, "parked"), { code: "effect_unresolved", attempts_total: 2, ...STARTED });
  await expectQueueEmpty(world);
  // It was applied after all, and shown only now.
  if (applied)
    await task.effects?.[0]?.commit({
      idempotencyKey: `${(await world.record(taskId)).idempotency_key}:publish`,
      input: {},
      signal: new AbortController().signal,
      fence: 1,
    });
  await worker.stop();
  return { world, task, client, taskId };
}

export const decisions: Suite<LifecycleHarness> = {
  subject: "a person decides",
  cases: [
    {
      name: "retry, and it is there after all: read back, settled, nothing is made again",
      needs: ["faults"],
      async run(harness) {
        const { world, task, client, taskId } = await caughtInCommit(harness, "searchable", true);
        const answer = await world.until(
          client.client.resume(taskId, { decision: "retry", by: "ada", note: "looked" }),
        );
        assert.equal(answer.outcome, "resumed");
        const queued = await world.record(taskId);
        expectFacts(queued, { status: "queued", attempt: 0, code: undefined, ...STARTED });
        assert.deepEqual(
          [queued.resolution?.decision, queued.resolution?.by, queued.resolution?.note],
          ["retry", "ada", "looked"],
        );
        world.worker("c", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1, attempts_total: 3 });
        assert.equal(world.system.made(), 1);
      },
    },
    ...(["searchable", "unreadable"] as const).map((kind) => ({
      name: `retry, and nothing is found: parked again, ${kind} endpoint`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const { world, task, client, taskId } = await caughtInCommit(harness, kind, false);
        await world.until(client.client.resume(taskId, { decision: "retry", by: "ada" }));
        world.worker("c", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "parked"), {
          code: "effect_unresolved",
          attempts_total: 3,
          ...STARTED,
        });
        assert.equal(commits(world), 0);
      },
    })),
    ...(["searchable", "unreadable"] as const).map((kind) => ({
      name: `commit again: one more commit, settled, ${kind} endpoint`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const { world, task, client, taskId } = await caughtInCommit(harness, kind, false);
        await world.until(client.client.resume(taskId, { decision: "commit-again", by: "ada" }));
        world.worker("c", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempts_total: 3 });
        assert.equal(record.allow_commit, undefined);
        assert.equal(record.effects["publish"]?.begins, 2);
        assert.deepEqual([commits(world), world.system.made()], [1, 1]);
      },
    })),
    {
      name: "commit again, and it is there after all: read back first, nothing is made again",
      needs: ["faults"],
      async run(harness) {
        const { world, task, client, taskId } = await caughtInCommit(harness, "searchable", true);
        await world.until(client.client.resume(taskId, { decision: "commit-again", by: "ada" }));
        const before = commits(world);
        world.worker("c", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED });
        assert.deepEqual([commits(world) - before, world.system.made()], [0, 1]);
      },
    },
    {
      name: "commit again allows one begin: caught again, the task parks again",
      needs: ["faults"],
      async run(harness) {
        const { world, task, client, taskId } = await caughtInCommit(harness, "searchable", false);
        await world.until(client.client.resume(taskId, { decision: "commit-again", by: "ada" }));
        // The first write asks without the permission, the second with it.
        const dies = world.worker("c", {
          tasks: [task],
          faults: [{ on: "store.beginEffect", fault: { crash: "after" }, skip: 1 }],
        });
        await world.until(() => dies.dead);
        world.worker("d", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "parked"), { code: "effect_unresolved", ...STARTED });
        assert.equal(commits(world), 0);
      },
    },
    {
      name: "committed, and it can be read: verified by the readback",
      needs: ["faults"],
      async run(harness) {
        const { world, task, client, taskId } = await caughtInCommit(harness, "searchable", true);
        await world.until(client.client.resume(taskId, { decision: "committed", externalId: "thing-1", by: "ada" }));
        expectFacts(await world.record(taskId), {
          status: "queued",
          stage: "verify",
          effects: { publish: "committed" },
        });
        world.worker("c", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED });
        assert.equal(record.settlement_receipt?.verified_by, undefined);
        assert.equal(world.system.made(), 1);
      },
    },
    {
      name: "committed, and it cannot be read: the receipt names who says so",
      needs: ["faults"],
      async run(harness) {
        const { world, task, client, taskId } = await caughtInCommit(harness, "unreadable", false);
        await world.until(client.client.resume(taskId, { decision: "committed", externalId: "order-77", by: "ada" }));
        world.worker("c", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, {
          status: "settled",
          effects: { publish: "verified" },
          receipt: ["blog", "order-77"],
          open: 0,
        });
        assert.equal(record.settlement_receipt?.verified_by, "ada");
        assert.equal(commits(world), 0);
      },
    },
    {
      name: "a handler that parked with an open effect: it is read back at resume",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { failAfter: new Error("reset") });
        world.system.next("find", { refuse: new Error("503") });
        const publish = world.system.effect("searchable");
        let runs = 0;
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            runs += 1;
            try {
              return await context.effect(publish, {});
            } catch {
              throw new ParkError("ask a person");
            }
          },
        });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "parked"), { code: "parked", ...STARTED });
        await world.until(client.client.resume(taskId, { decision: "retry", by: "ada" }));
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1, attempts_total: 2 });
        assert.deepEqual([commits(world), runs], [1, 2]);
      },
    },
    {
      name: "two effects are open: the decision must name one",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const one = world.system.effect("searchable", { name: "one" });
        const two = world.system.effect("searchable", { name: "two" });
        world.system.next("commit", { refuse: new Error("reset") }, { refuse: new Error("reset") });
        const task = taskOf(world, {
          effects: [one, two],
          async run(context) {
            const both = await Promise.allSettled([context.effect(one, {}), context.effect(two, {})]);
            for (const outcome of both) if (outcome.status === "rejected") throw outcome.reason;
          },
        });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "parked"), { effects: { one: "started", two: "started" }, open: 2 });
        const unnamed = client.client.resume(taskId, { decision: "commit-again", by: "ada" });
        await assert.rejects(
          world.until(unnamed),
          (error: unknown) => isLeaseholdError(error, "InvalidArgument") && /one.*two/.test(error.message),
        );
        await world.until(
          client.client.resume(taskId, { decision: "committed", effect: "one", externalId: "order-1", by: "ada" }),
        );
        // The other one is as open as before.
        expectFacts(await world.reaches(taskId, ({ status, fence }) => status === "parked" && fence === 2), {
          effects: { one: "verified", two: "started" },
        });
        await world.until(client.client.resume(taskId, { decision: "commit-again", effect: "two", by: "ada" }));
        expectFacts(await world.reaches(taskId, "settled"), { receipts: { one: "order-1", two: "thing-1" }, open: 0 });
        assert.equal(world.system.made(), 1);
      },
    },
    {
      name: "a resume of what is not parked changes nothing",
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: () => "done" });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        const queued = await world.record(taskId);
        assert.equal(
          (await world.until(client.client.resume(taskId, { decision: "retry", by: "ada" }))).outcome,
          "refused",
        );
        assert.deepEqual(await world.record(taskId), queued);
        assert.equal(
          (await world.until(client.client.resume("no-such-task", { decision: "retry", by: "ada" }))).outcome,
          "missing",
        );
      },
    },
  ],
};
