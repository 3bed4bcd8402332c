import assert from "node:assert/strict";
import { isLeaseholdError, NotCommittedError } from "@leasehold/core";
import { parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { commits, ENDED_ONCE, enqueue, expectFacts, ONE_ATTEMPT, SETTLED, STARTED, taskOf } from "./support.ts";

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "none";
  } catch (error) {
    return isLeaseholdError(error) ? `${error.code}: ${error.message}` : String(error);
  }
}

/** Effects of one task and of its attempts. */
export const effects: Suite<LifecycleHarness> = {
  subject: "effects",
  cases: [
    ...(["nothing was sent", "nobody knows"] as const).map((what) => ({
      name: `two side by side, one fails (${what}): the other keeps its receipt and is not made again`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const good = world.system.effect("idempotent", { name: "good" });
        const bad = world.system.effect("idempotent", { name: "bad" });
        world.system.next(
          "commit",
          {},
          { refuse: what === "nobody knows" ? new Error("reset") : new NotCommittedError("no route") },
        );
        const task = taskOf(world, {
          effects: [good, bad],
          async run(context) {
            const both = await Promise.all([context.effect(good, {}), context.effect(bad, {})]);
            return both.map((receipt) => receipt.external_id);
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        const unknown = what === "nobody knows";
        expectFacts(await world.reaches(taskId, ENDED_ONCE), {
          status: "released",
          stage: unknown ? "commit" : "verify",
          effects: { good: "verified", bad: unknown ? "started" : "failed" },
          receipts: { good: "thing-1" },
          open: unknown ? 1 : 0,
        });
        worker.heal();
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, {
          attempt: 2,
          effects: { good: "verified", bad: "verified" },
          receipts: { good: "thing-1", bad: "thing-2" },
          open: 0,
        });
        assert.equal(record.result, '["thing-1","thing-2"]');
        // The last receipt is the task's, unless it says otherwise.
        assert.equal(record.settlement_receipt?.external_id, "thing-2");
        assert.deepEqual([commits(world), world.system.made()], [3, 2]);
      },
    })),
    {
      name: "receiptFrom names the effect whose receipt is the task's",
      async run(harness) {
        const world = await harness.open();
        const first = world.system.effect("idempotent", { name: "first" });
        const second = world.system.effect("idempotent", { name: "second" });
        const task = taskOf(world, {
          effects: [first, second],
          receiptFrom: "first",
          async run(context) {
            await context.effect(first, {});
            await context.effect(second, {});
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), {
          receipt: ["blog", "thing-1"],
          receipts: { first: "thing-1", second: "thing-2" },
        });
      },
    },
    ...([undefined, "publish"] as const).map((settledBy) => ({
      name: settledBy
        ? "a declared effect that settles the task is found: settled without a run"
        : "a declared effect is read back before run, which gets its receipt at once",
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const order: string[] = [];
        const publish = world.system.effect("searchable");
        const task = taskOf(world, {
          effects: [publish],
          ...(settledBy === undefined ? {} : { settledBy }),
          async run(context) {
            order.push(`run after ${world.system.calls.join()}`);
            if (context.fence > 1) {
              assert.equal(context.previous?.receipts["publish"]?.external_id, "thing-1");
              assert.equal(context.previous?.stage, "commit");
            }
            return context.effect(publish, { attempt: context.fence });
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const first = world.worker("a", {
          tasks: [task],
          faults: [{ on: "store.recordCommitted", fault: { crash: "before" } }],
        });
        await world.until(() => first.dead);
        world.worker("b", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, { ...SETTLED, attempt: 2 });
        assert.deepEqual(order, settledBy === undefined ? ["run after ", "run after commit,find"] : ["run after "]);
        assert.deepEqual(world.system.calls, ["commit", "find"]);
        assert.equal((JSON.parse(record.result ?? "null") as { external_id?: string }).external_id, "thing-1");
      },
    })),
    {
      name: "an inline effect is read back when the handler reaches it",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const order: string[] = [];
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          run(context) {
            order.push(`run after ${world.system.calls.join()}`);
            return context.effect(publish, {});
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const first = world.worker("a", {
          tasks: [task],
          faults: [{ on: "store.recordReceipt", fault: { crash: "before" } }],
        });
        await world.until(() => first.dead);
        world.worker("b", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        assert.deepEqual(order, ["run after ", "run after commit,find"]);
        assert.deepEqual(world.system.calls, ["commit", "find", "find"]);
      },
    },
    {
      name: "an inline effect with guard none is refused before anything is sent",
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("searchable");
        const task = taskOf(world, { run: (context) => codeOf(context.effect(publish, {})) });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        assert.match(record.result ?? "", /^"InvalidArgument: .*effects/);
        assert.deepEqual(world.system.calls, []);
      },
    },
    {
      name: "called twice: equal input gets the same receipt, another input is refused and asks for an item, items are effects of their own",
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            const [one, same] = await Promise.all([
              context.effect(publish, { a: 1, b: 2 }),
              context.effect(publish, { b: 2, a: 1 }),
            ]);
            assert.equal(one, same);
            assert.equal(await context.effect(publish, { a: 1, b: 2 }), one);
            const refused = await codeOf(context.effect(publish, { a: 2 }));
            await Promise.all([
              context.effect(publish, { a: 2 }, { item: "x" }),
              context.effect(publish, { a: 3 }, { item: "y" }),
            ]);
            return refused;
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        assert.match(record.result ?? "", /^"InvalidArgument: .*item/);
        expectFacts(record, {
          effects: { publish: "verified", "publish:x": "verified", "publish:y": "verified" },
          open: 0,
        });
        assert.deepEqual(
          world.system.ledger.map(({ key }) => key).sort(),
          ["", ":x", ":y"].map((item) => `${record.idempotency_key}:publish${item}`),
        );
      },
    },
    {
      name: "across attempts the input of an effect may differ",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { refuse: new Error("reset") });
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          effects: [publish],
          run: (context) => context.effect(publish, { attempt: context.attempt }),
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        assert.deepEqual(
          world.system.ledger.map(({ input }) => input),
          [{ attempt: 2 }],
        );
      },
    },
    {
      name: "begin brings the full lease of the commit stage",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { hang: "before" });
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          lease: 60_000,
          stages: { commit: { lease: 20_000 } },
          effects: [publish],
          run: (context) => context.effect(publish, {}),
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, ({ open_effects }) => open_effects === 1);
        expectFacts(record, { ...STARTED });
        assert.equal(parseTime(record.lease_expires_at as string) - parseTime(record.updated_at), 20_000);
        worker.crash();
      },
    },
    {
      name: "the 51st effect of a task is refused before anything is sent",
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          effects: [publish],
          async run(context) {
            for (let item = 1; item <= 50; item++) await context.effect(publish, {}, { item: String(item) });
            return codeOf(context.effect(publish, {}, { item: "51" }));
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        assert.match(record.result ?? "", /^"InvalidArgument: .*50/);
        assert.equal(commits(world), 50);
      },
    },
    {
      name: "what is too long in a receipt is clipped with a mark, never refused after the commit",
      async run(harness) {
        const world = await harness.open();
        const publish = {
          ...world.system.effect("idempotent"),
          externalId: () => "i".repeat(2_000),
          verify: () => ({
            externalId: "i".repeat(2_000),
            status: "s".repeat(200),
            details: { text: "d".repeat(4_000) },
          }),
        };
        const task = taskOf(world, { effects: [publish], run: (context) => context.effect(publish, {}) });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const { settlement_receipt: receipt } = await world.reaches(taskId, "settled");
        const bytes = [receipt?.external_id, receipt?.status, receipt?.details].map((text) =>
          Buffer.byteLength(text ?? ""),
        );
        assert.ok(
          bytes.every((size, index) => size > 0 && size <= ([512, 64, 1_024][index] as number)),
          `${bytes}`,
        );
      },
    },
  ],
};
