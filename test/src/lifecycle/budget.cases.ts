import assert from "node:assert/strict";
import { parseTime, sleep } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { aborted, enqueue, expectFacts, gate, ONE_ATTEMPT, SETTLED, STARTED, taskOf } from "./support.ts";

const LEASE_MS = 60_000;
/** What a holder leaves unused of such a lease, and how long before that an end must be written. */
const MARGIN_MS = 3_000;
const CUTOFF_MS = 2_000;
const BUDGET_MS = 30_000;

/** A claim that is past its budget: neither lease is renewed any more. */
export const budgets: Suite<LifecycleHarness> = {
  subject: "past the budget",
  cases: [
    {
      name: "the handler ends in time: released then, and nothing was renewed meanwhile",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        let at = 0;
        const task = taskOf(world, {
          lease: LEASE_MS,
          stages: { preflight: { budget: BUDGET_MS } },
          async run(context) {
            await aborted(context.signal);
            await sleep(worker.clock, 10_000);
            at = world.now();
            throw new Error("no answer from the model");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], recovery: false, faults: ONE_ATTEMPT });
        const record = await world.reaches(taskId, "released");
        expectFacts(record, { stage: "preflight", attempt: 1, log: [["released", "preflight"]] });
        assert.equal(parseTime(record.updated_at), at);
        const kept = worker.calls.filter(({ name }) => name === "store.renew" || name === "queue.extend");
        assert.deepEqual(kept, []);
      },
    },
    {
      name: "the handler goes on, no effect is open: released before the lease ends, its slot stays taken",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const handler = gate();
        const startedAt = world.now();
        const task = taskOf(world, {
          lease: LEASE_MS,
          stages: { preflight: { budget: BUDGET_MS } },
          async run(context) {
            if (context.fence > 1) return "second";
            await handler.wait();
            return "late";
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], concurrency: 1 });
        const record = await world.reaches(taskId, "released");
        const afterMs = parseTime(record.updated_at) - startedAt;
        const expected = LEASE_MS - MARGIN_MS - CUTOFF_MS;
        assert.ok(Math.abs(afterMs - expected) <= 250, `released after ${afterMs} ms, expected ${expected} ms`);
        await world.wait(LEASE_MS);
        assert.deepEqual({ ...worker.worker.state, deliveries: 0 }, { busy: 1, leases: 0, deliveries: 0, orphans: 1 });
        expectFacts(await world.record(taskId), { status: "released" });
        handler.open();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2 });
        assert.equal((await world.record(taskId)).result, '"second"');
        assert.equal(worker.worker.state.orphans, 0);
      },
    },
    {
      name: "the handler goes on with an open effect: nothing is written, the lease lapses, the next holder reads back",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { maxClockSkewMs } = world.timing;
        world.system.next("commit", { hang: "after" });
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          lease: LEASE_MS,
          effects: [publish],
          stages: { commit: { budget: BUDGET_MS } },
          run: (context) => context.effect(publish, {}),
        });
        const taskId = await enqueue(world, world.client(), task);
        const first = world.worker("a", { tasks: [task], recovery: false });
        const begun = await world.reaches(taskId, ({ open_effects }) => open_effects === 1);
        world.worker("b", { tasks: [task] });
        await world.wait(LEASE_MS + maxClockSkewMs);
        assert.deepEqual(await world.record(taskId), begun);
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, {
          ...SETTLED,
          attempt: 2,
          log: [
            ["expired", "commit"],
            ["settled", "verify"],
          ],
        });
        assert.ok(
          parseTime(record.acquired_at as string) > parseTime(begun.lease_expires_at as string) + maxClockSkewMs,
        );
        assert.deepEqual(
          world.system.ledger.map(({ fence }) => fence),
          [1],
        );
        assert.equal(first.worker.state.orphans, 1);
        first.crash();
      },
    },
    ...(["idempotent", "searchable"] as const).map((kind) => ({
      name: `the handler ends in time with an open effect: released at commit, ${kind} endpoint`,
      needs: ["time" as const, "faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        world.system.next("commit", { delayMs: 10 * LEASE_MS });
        const publish = world.system.effect(kind);
        const task = taskOf(world, {
          lease: LEASE_MS,
          effects: [publish],
          stages: { commit: { budget: BUDGET_MS } },
          run: (context) => context.effect(publish, {}),
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        expectFacts(await world.reaches(taskId, "released"), { ...STARTED, attempt: 1 });
        worker.heal();
        if (kind === "idempotent") expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        else expectFacts(await world.reaches(taskId, "parked"), { ...STARTED, code: "effect_unresolved" });
        assert.equal(world.system.made(), kind === "idempotent" ? 1 : 0);
      },
    })),
    {
      name: "the handler ends too late with an open effect: nothing is written",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { delayMs: LEASE_MS - MARGIN_MS - CUTOFF_MS / 2, deaf: true });
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          lease: LEASE_MS,
          effects: [publish],
          stages: { commit: { budget: BUDGET_MS } },
          run: (context) => context.effect(publish, {}),
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task], recovery: false, faults: ONE_ATTEMPT });
        const begun = await world.reaches(taskId, ({ open_effects }) => open_effects === 1);
        await world.wait(LEASE_MS);
        assert.equal(world.system.made(), 1);
        assert.deepEqual(await world.record(taskId), begun);
      },
    },
    {
      name: "an answer that comes in time is kept, and buys no time: released then, found by the next attempt",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const startedAt = world.now();
        world.system.next("commit", { delayMs: BUDGET_MS + 10_000, deaf: true });
        const publish = world.system.effect("searchable");
        const task = taskOf(world, {
          lease: LEASE_MS,
          effects: [publish],
          stages: { commit: { budget: BUDGET_MS } },
          run: (context) => context.effect(publish, {}),
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        const record = await world.reaches(taskId, "released");
        expectFacts(record, { stage: "verify", effects: { publish: "committed" }, attempt: 1 });
        assert.ok(parseTime(record.lease_expires_at as string) <= startedAt + LEASE_MS, "the lease was not renewed");
        worker.heal();
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 2 });
        assert.equal(world.system.made(), 1);
      },
    },
    {
      name: "of two effects side by side the first budget to pass ends both",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const startedAt = world.now();
        let abortedAt = 0;
        world.system.next("commit", { delayMs: 10 * LEASE_MS }, { delayMs: 10 * LEASE_MS });
        const one = world.system.effect("idempotent", { name: "one" });
        const two = world.system.effect("idempotent", { name: "two" });
        const task = taskOf(world, {
          lease: LEASE_MS,
          effects: [one, two],
          stages: { commit: { budget: BUDGET_MS } },
          async run(context) {
            const first = context.effect(one, {});
            await sleep(worker.clock, 20_000);
            const second = context.effect(two, {});
            await aborted(context.signal);
            abortedAt = world.now();
            await Promise.allSettled([first, second]);
            throw new Error("both failed");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        expectFacts(await world.reaches(taskId, "released"), {
          stage: "commit",
          effects: { one: "started", two: "started" },
          open: 2,
        });
        assert.ok(Math.abs(abortedAt - startedAt - BUDGET_MS) <= 50, `aborted after ${abortedAt - startedAt} ms`);
      },
    },
  ],
};
