import assert from "node:assert/strict";
import { isLeaseholdError, RetryableError } from "@leasehold/core";
import { parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { commits, counted, ENDED_ONCE, enqueue, expectFacts, gate, ONE_ATTEMPT, taskOf } from "./support.ts";

const throwing = {
  get message(): string {
    throw new Error("a getter that throws");
  },
};

/** Things that nobody should throw, and that somebody does. */
const ODD_THROWS: readonly (readonly [what: string, thrown: unknown])[] = [
  ["undefined", undefined],
  ["an object without a prototype", Object.create(null)],
  ["an error whose message is a number", Object.assign(new Error(), { message: 7 })],
  ["an error whose message cannot be read", throwing],
  ["a frozen object", Object.freeze({ code: "E" })],
  ["a delay beyond all times", new RetryableError("later", { retryAfterMs: Number.MAX_SAFE_INTEGER })],
];

/** Handlers do as they like; each attempt has an end all the same. */
export const oddHandlers: Suite<LifecycleHarness> = {
  subject: "odd handlers",
  cases: [
    ...ODD_THROWS.map(([what, thrown]) => ({
      name: `throws ${what}: released, as for anything else`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const task = taskOf(world, {
          run() {
            throw thrown;
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        const record = await world.reaches(taskId, ENDED_ONCE);
        expectFacts(record, { status: "released", attempt: 1, log: [["released", "preflight"]] });
        assert.notEqual(record.last_error, "");
      },
    })),
    {
      name: "progress with more members than a record keeps: what is known is kept, and the task settles",
      async run(harness) {
        const world = await harness.open();
        const progress = { done: 1, total: 3, unit: "files", since: new Date(0), by: Symbol("no") };
        const task = taskOf(world, {
          async run(context) {
            await context.renew({ stage: "external_call", progress });
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        assert.deepEqual(record.last_claims.at(-1)?.progress, { done: 1, total: 3, unit: "files" });
        expectFacts(record, { attempt: 1 });
      },
    },
    {
      name: "a claim that is none is refused and leaves nothing behind",
      async run(harness) {
        const world = await harness.open();
        const codes: unknown[] = [];
        const task = taskOf(world, {
          async run(context) {
            const odd: readonly object[] = [
              { stage: "commit", reason: "sent 3 of 9", budget: "soon" },
              { stage: "external_call", progress: { done: 1, unit: 7 } },
              { stage: "external_call", progress: { done: Number.NaN } },
              { stage: "settled", reason: "sent 3 of 9" },
              { stage: "preflight" },
            ];
            for (const claim of odd) {
              await context
                .renew(claim as never)
                .catch((error: unknown) => codes.push(isLeaseholdError(error, "InvalidArgument")));
            }
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { claims: [], attempt: 1 });
        assert.deepEqual(codes, [true, true, true, true, true]);
      },
    },
    {
      name: "an effect that floating code asks for after the handler has ended is refused",
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("searchable");
        const later = gate();
        let refused: unknown;
        const task = taskOf(world, {
          effects: [publish],
          run(context) {
            void later.passed.then(() =>
              context.effect(publish, {}).catch((error: unknown) => {
                refused = error;
              }),
            );
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        await world.reaches(taskId, "settled");
        later.open();
        await world.until(() => refused !== undefined);
        assert.ok(isLeaseholdError(refused, "LeaseLost"));
        assert.equal(commits(world), 0);
      },
    },
    {
      name: "a readback that hangs before the handler is an orphan once its lease is gone, and hangs nothing else",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, { effects: [publish], run: (context) => context.effect(publish, {}) });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        const dies = world.worker("a", {
          tasks: [task],
          faults: [{ on: "store.beginEffect", fault: { crash: "after" } }],
        });
        await world.until(() => dies.dead);
        world.system.next("find", { hang: "before" });
        const worker = world.worker("b", { tasks: [task], hungAfter: false });
        await world.until(() => worker.worker.state.orphans === 1);
        expectFacts(await world.reaches(taskId, "settled"), { effects: { publish: "verified" } });
        assert.equal(worker.worker.state.orphans, 1);
      },
    },
    {
      name: "a type that parks after preflight: one attempt passes after a person's decision, the next parks again",
      async run(harness) {
        const world = await harness.open();
        const { task: plain, runs } = counted(world, () => {
          throw new Error("no");
        });
        const task = { ...plain, retry: { preflight: "park" } } as const;
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "parked"), { code: "retry_rule" });
        assert.equal(runs(), 1);
        await world.until(client.client.resume(taskId, { decision: "retry", by: "ada" }));
        await world.reaches(taskId, (record) => record.status === "parked" && runs() === 2);
        assert.equal(runs(), 2);
      },
    },
    {
      name: "the lease of a claim's stage is the one of that stage, from its first renewal on",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const go = gate();
        const longMs = 50 * world.timing.leaseMs;
        const task = taskOf(world, {
          stages: { external_call: { lease: longMs } },
          async run(context) {
            await context.renew({ stage: "external_call", reason: "waiting for the batch result" });
            await go.wait();
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, (each) => each.stage === "external_call");
        assert.equal(parseTime(record.lease_expires_at ?? "") - parseTime(record.updated_at), longMs);
        go.open();
        await world.reaches(taskId, "settled");
      },
    },
  ],
};
