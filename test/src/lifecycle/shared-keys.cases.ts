import assert from "node:assert/strict";
import { ParkError, PermanentError } from "@leasehold/core";
import { parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, World } from "./harness.ts";
import { type Context, commits, enqueue, expectFacts, gate, type TestTask, taskOf, UNREACHABLE } from "./support.ts";

const KEY = "invoice-2031";

/** Two task types that make the same effect, under a key that they share. */
function sharing(
  world: World,
  first: (context: Context, effect: () => Promise<unknown>) => unknown,
): { readonly owner: TestTask; readonly other: TestTask } {
  const publish = world.system.effect("idempotent", { scope: "global", key: () => KEY });
  const effects = [publish];
  return {
    owner: taskOf(world, {
      type: "owner",
      effects,
      run: (context) => first(context, () => context.effect(publish, {})),
    }),
    other: taskOf(world, { type: "other", effects, run: (context) => context.effect(publish, {}) }),
  };
}

/** Effects under a key that tasks share. */
export const sharedKeys: Suite<LifecycleHarness> = {
  subject: "shared keys",
  cases: [
    {
      name: "the owner has the receipt: the other task uses it",
      async run(harness) {
        const world = await harness.open();
        const { owner, other } = sharing(world, (_context, effect) => effect());
        const client = world.client();
        world.worker("a", { tasks: [owner, other] });
        await world.reaches(await enqueue(world, client, owner), "settled");
        const taskId = await enqueue(world, client, other);
        expectFacts(await world.reaches(taskId, "settled"), {
          attempt: 1,
          effects: { publish: "verified" },
          receipts: { publish: "thing-1" },
        });
        assert.deepEqual([commits(world), world.system.made()], [1, 1]);
      },
    },
    {
      name: "the owner is at work: the other task waits longer each time, and gets its attempt back ten times",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const answer = gate();
        const shared = world.system.effect("idempotent", { scope: "global", key: () => KEY });
        const slow = {
          ...shared,
          async commit(context: Parameters<typeof shared.commit>[0]) {
            await answer.wait();
            return shared.commit(context);
          },
        };
        const stages = { commit: { budget: "1000h" } } as const;
        const owner = taskOf(world, {
          type: "owner",
          effects: [slow],
          stages,
          run: (context) => context.effect(slow, {}),
        });
        const other = taskOf(world, { type: "other", effects: [shared], run: (context) => context.effect(shared, {}) });
        const client = world.client();
        world.worker("a", { tasks: [owner, other] });
        await enqueue(world, client, owner);
        await world.until(answer.reached);
        const taskId = await enqueue(world, client, other);
        const { base, cap } = world.timing.backoff;
        const attempts: number[] = [];
        const delays: number[] = [];
        for (let count = 1; count <= 11; count++) {
          const record = await world.reaches(taskId, ({ status, fence }) => status === "released" && fence === count);
          expectFacts(record, { effects: {}, attempts_total: count });
          attempts.push(record.attempt);
          const delayMs = parseTime(record.not_before as string) - parseTime(record.updated_at);
          assert.ok(delayMs <= Math.min(cap, base * 2 ** (count - 1)), `wait ${count} is of ${delayMs} ms`);
          delays.push(delayMs);
        }
        assert.deepEqual(attempts, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert.ok(Math.max(...delays) > 8 * base, `it grows: ${delays}`);
        answer.open();
        expectFacts(await world.reaches(taskId, "settled"), { receipts: { publish: "thing-1" } });
        assert.equal(commits(world), 1);
      },
    },
    {
      name: "the owner is parked: the other task parks",
      async run(harness) {
        const world = await harness.open();
        const { owner, other } = sharing(world, async (_context, effect) => {
          await assert.rejects(effect() as Promise<unknown>);
          throw new ParkError("ask a person");
        });
        world.system.next("commit", { refuse: new Error("reset") });
        const client = world.client();
        world.worker("a", { tasks: [owner, other] });
        expectFacts(await world.reaches(await enqueue(world, client, owner), "parked"), {
          effects: { publish: "started" },
        });
        expectFacts(await world.reaches(await enqueue(world, client, other), "parked"), { effects: {} });
        assert.equal(world.system.made(), 0);
      },
    },
    ...(["made it", "did not make it"] as const).map((what) => ({
      name: `the owner ended without a receipt and ${what}: taken over, read back first`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { owner, other } = sharing(world, async (_context, effect) => {
          await assert.rejects(effect() as Promise<unknown>);
          throw new PermanentError("never works");
        });
        const gone = new Error("reset");
        world.system.next("commit", what === "made it" ? { failAfter: gone } : { refuse: gone });
        // Not to be found for the owner: neither at the commit nor at its end.
        world.system.next("find", { answer: undefined }, { answer: undefined });
        const client = world.client();
        world.worker("a", { tasks: [owner, other] });
        expectFacts(await world.reaches(await enqueue(world, client, owner), "dead_lettered"), {
          effects: { publish: "failed" },
        });
        const before = world.system.calls.length;
        expectFacts(await world.reaches(await enqueue(world, client, other), "settled"), {
          effects: { publish: "verified" },
          receipts: { publish: "thing-1" },
        });
        assert.equal(world.system.calls[before], "find");
        assert.deepEqual([commits(world), world.system.made()], [what === "made it" ? 1 : 2, 1]);
      },
    })),
    {
      name: "the owner's record is gone: taken over, read back first",
      async run(harness) {
        const world = await harness.open();
        const { other } = sharing(world, () => undefined);
        await world.store.claimKey({
          system: "blog",
          key: KEY,
          owner: { task_id: "gone", fence: 3 },
          at: world.now(),
          retentionMs: 86_400_000,
        });
        world.worker("a", { tasks: [other] });
        expectFacts(await world.reaches(await enqueue(world, world.client(), other), "settled"), {
          effects: { publish: "verified" },
        });
        assert.deepEqual(world.system.calls, ["find", "commit", "find"]);
      },
    },
    {
      name: "the owner comes back after a crash: it keeps the key",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { owner, other } = sharing(world, (_context, effect) => effect());
        const client = world.client();
        const taskId = await enqueue(world, client, owner);
        const dies = world.worker("a", {
          tasks: [owner, other],
          faults: [{ on: "store.recordReceipt", fault: { crash: "before" } }],
        });
        await world.until(() => dies.dead);
        const second = await enqueue(world, client, other);
        world.worker("b", { tasks: [owner, other], faults: [{ on: "store.claimKey", fault: { error: UNREACHABLE } }] });
        expectFacts(await world.reaches(taskId, "settled"), { receipts: { publish: "thing-1" } });
        expectFacts(await world.reaches(second, "settled"), { receipts: { publish: "thing-1" } });
        assert.equal(commits(world), 1);
      },
    },
  ],
};
