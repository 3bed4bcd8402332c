import assert from "node:assert/strict";
import { PermanentError, RetryableError } from "@leasehold/core";
import { parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { enqueue, expectFacts, gate, ONE_ATTEMPT, raise, SETTLED, taskOf, UNREACHABLE } from "./support.ts";

export const handlerEnds: Suite<LifecycleHarness> = {
  subject: "how the handler ends",
  cases: [
    {
      name: "the handler returns while its effect is under way: core waits for it",
      async run(harness) {
        const world = await harness.open();
        world.system.next("commit", { delayMs: world.timing.leaseMs / 4 });
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          effects: [publish],
          run(context) {
            void context.effect(publish, {});
            return "done";
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1, attempts_total: 1 });
        assert.equal((await world.record(taskId)).result, '"done"');
      },
    },
    {
      name: "back-off doubles from the base, with full jitter",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { attempts: 8, run: raise(new Error("boom")) });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        const { base, cap } = world.timing.backoff;
        const delays: number[] = [];
        for (let attempt = 1; attempt < 8; attempt++) {
          const record = await world.reaches(taskId, ({ status, fence }) => status === "released" && fence === attempt);
          const delayMs = parseTime(record.not_before as string) - parseTime(record.updated_at);
          assert.ok(
            delayMs >= 0 && delayMs <= Math.min(cap, base * 2 ** (attempt - 1)),
            `attempt ${attempt} waits ${delayMs} ms`,
          );
          delays.push(delayMs);
          assert.equal(record.last_error, "boom");
        }
        assert.ok(Math.max(...delays) > base, "it has grown");
        expectFacts(await world.reaches(taskId, "dead_lettered"), {
          code: "attempts_exhausted",
          attempt: 8,
          attempts_total: 8,
        });
      },
    },
    {
      name: "RetryableError names the wait",
      async run(harness) {
        const world = await harness.open();
        const retryAfterMs = world.timing.leaseMs;
        const task = taskOf(world, {
          run(context) {
            if (context.attempt === 1) throw new RetryableError("rate limit", { retryAfterMs });
            return context.previous?.error;
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        const record = await world.reaches(taskId, "released");
        assert.equal(parseTime(record.not_before as string) - parseTime(record.updated_at), retryAfterMs);
        worker.heal();
        const end = await world.reaches(taskId, "settled");
        assert.ok(parseTime(end.acquired_at as string) >= parseTime(record.not_before as string));
        assert.equal(end.result, '"rate limit"');
      },
    },
    {
      name: "a lease that is lost writes nothing, whatever the handler does",
      needs: ["faults", "time"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const ends: Readonly<Record<string, () => unknown>> = {
          returned: () => "late",
          thrown: raise(new PermanentError("late")),
        };
        for (const [key, end] of Object.entries(ends)) {
          const handler = gate();
          const task = taskOf(world, {
            type: key,
            effects: [publish],
            async run(context): Promise<unknown> {
              if (context.fence > 1) return "second";
              await handler.wait();
              return end();
            },
          });
          const taskId = await enqueue(world, world.client(), task);
          const worker = world.worker("a", { tasks: [task], recovery: false });
          const before = await world.reaches(taskId, "leased");
          worker.fault("store.", { error: UNREACHABLE }, { times: Number.POSITIVE_INFINITY });
          await world.wait(world.timing.leaseMs);
          worker.heal();
          const calls = worker.calls.length;
          handler.open();
          await world.wait(1);
          assert.deepEqual(worker.calls.slice(calls), []);
          assert.deepEqual(await world.record(taskId), before);
          await worker.stop();
          const second = world.worker("b", { tasks: [task] });
          expectFacts(await world.reaches(taskId, "settled"), {
            attempt: 2,
            log: [
              ["expired", "preflight"],
              ["settled", "preflight"],
            ],
          });
          await second.stop();
        }
      },
    },
  ],
};
