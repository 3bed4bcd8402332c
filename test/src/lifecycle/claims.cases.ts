import assert from "node:assert/strict";
import { isLeaseholdError, RetryableError } from "@leasehold/core";
import { sleep } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker, World } from "./harness.ts";
import { aborted, type Context, enqueue, expectFacts, ONE_ATTEMPT, type TestTask, taskOf } from "./support.ts";

/** Sleeps on the clock of the worker that runs the handler. */
type Nap = (ms: number) => Promise<void>;

/** Runs one task whose handler can sleep, in one worker. */
async function play(
  world: World,
  run: (context: Context, nap: Nap) => Promise<unknown>,
  definition: Partial<TestTask> = {},
  options: Partial<Parameters<World["worker"]>[1]> = {},
): Promise<{ readonly taskId: string; readonly worker: PlayedWorker }> {
  let worker: PlayedWorker | undefined;
  const task = taskOf(world, {
    run: (context) => run(context, (ms) => sleep((worker as PlayedWorker).clock, ms, context.signal)),
    ...definition,
  });
  const taskId = await enqueue(world, world.client(), task);
  worker = world.worker("a", { tasks: [task], ...options });
  return { taskId, worker };
}

const renewals = (worker: PlayedWorker): number => worker.calls.filter(({ name }) => name === "store.renew").length;
const extensions = (worker: PlayedWorker): number => worker.calls.filter(({ name }) => name === "queue.extend").length;

/** What buys time, and how much is written for it. */
export const claims: Suite<LifecycleHarness> = {
  subject: "claims",
  cases: [
    {
      name: "a short task renews nothing",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { taskId, worker } = await play(world, async (_context, nap) => nap(world.timing.leaseMs / 2 - 1_000));
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1 });
        assert.deepEqual([renewals(worker), extensions(worker)], [0, 0]);
      },
    },
    {
      name: "one claim keeps record and message alive for its budget: one write for each half of a lease",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        const { taskId, worker } = await play(world, async (context, nap) => {
          await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "30m" });
          await nap(10 * leaseMs + 1_000);
        });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
        // The claim itself, then one after each half.
        assert.equal(renewals(worker), 1 + 20);
        const beats = extensions(worker);
        assert.ok(beats >= 9 && beats <= 21, `${beats} extensions`);
        assert.equal(worker.deliveries.length, 1, "the message was never delivered again");
      },
    },
    {
      name: "progress buys time through 20 leases",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        const { taskId, worker } = await play(world, async (context, nap) => {
          for (let done = 1; done <= 20; done++) {
            await context.renew({
              stage: "external_call",
              progress: { done, total: 20, unit: "documents" },
              budget: 1.5 * leaseMs,
            });
            await nap(leaseMs);
          }
        });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, {
          attempt: 1,
          claims: [18, 19, 20].map((done) => ["external_call", `${done} of 20 documents`] as const),
        });
        assert.equal(record.claim_count, 20);
        assert.deepEqual(record.last_claims.at(-1)?.progress, { done: 20, total: 20, unit: "documents" });
        assert.equal(worker.deliveries.length, 1);
      },
    },
    ...(
      [
        ["a vague claim is recorded and buys no time", { reason: "still running" }],
        ["an equal claim in a loop buys no time after the first", { reason: "waiting for model batch result" }],
        ["progress that does not grow buys no time", { progress: { done: 3, total: 9 } }],
      ] as const
    ).map(([name, claim]) => ({
      name,
      needs: ["time" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const reasons: string[] = [];
        let abortedAt = 0;
        const startedAt = world.now();
        const { taskId, worker } = await play(
          world,
          async (context, nap) => {
            void aborted(context.signal).then((reason) => {
              abortedAt = world.now();
              reasons.push(reason);
            });
            while (!context.signal.aborted) {
              await context.renew({ stage: "preflight", ...claim });
              await nap(10_000);
            }
            throw new Error("over");
          },
          { stages: { preflight: { budget: "2m" } } },
          { faults: ONE_ATTEMPT },
        );
        const record = await world.reaches(taskId, "released");
        assert.deepEqual(reasons, ["no_progress"]);
        assert.ok(
          abortedAt - startedAt >= 120_000 && abortedAt - startedAt <= 121_000,
          `aborted after ${abortedAt - startedAt} ms`,
        );
        expectFacts(record, { stage: "preflight", attempt: 1 });
        assert.ok(record.claim_count >= 11, `${record.claim_count} claims are recorded`);
        const told = worker.log.filter((line) => line.includes("still running")).length;
        assert.equal(told, "reason" in claim && claim.reason === "still running" ? 1 : 0, "told once for each type");
      },
    })),
    {
      name: "strict reasons throw on a vague one",
      async run(harness) {
        const world = await harness.open();
        const { taskId } = await play(
          world,
          async (context) => {
            try {
              await context.renew({ stage: "external_call", reason: "heartbeat" });
              return "taken";
            } catch (error) {
              return isLeaseholdError(error) && error.code;
            }
          },
          {},
          { strictReasons: true },
        );
        const record = await world.reaches(taskId, "settled");
        assert.equal(record.result, '"InvalidArgument"');
        assert.equal(record.claim_count, 0);
      },
    },
    {
      name: "repeats are written once a second, and the last one lands",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { taskId, worker } = await play(world, async (context, nap) => {
          for (let done = 1; done <= 100; done++) {
            await context.renew({ stage: "external_call", progress: { done, total: 100, unit: "pages" } });
            await nap(50);
          }
          await nap(2_000);
        });
        const record = await world.reaches(taskId, ({ claim_count }) => claim_count === 100);
        expectFacts(record, { status: "leased" });
        assert.deepEqual(record.last_claims.at(-1)?.progress, { done: 100, total: 100, unit: "pages" });
        await world.reaches(taskId, "settled");
        // Five seconds of claims: the change of stage, then one a second, and the last.
        assert.ok(renewals(worker) >= 5 && renewals(worker) <= 7, `${renewals(worker)} writes`);
      },
    },
    {
      name: "a change of stage or guard is written before renew resolves",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const seen: unknown[] = [];
        const { taskId, worker } = await play(world, async (context) => {
          const look = async (): Promise<void> => {
            const { stage, last_claims } = await world.record(context.id);
            seen.push([stage, last_claims.at(-1)?.guard]);
          };
          await context.renew({ stage: "external_call", reason: "sent the order to the printer" });
          await look();
          await context.renew({ stage: "external_call", reason: "sent the order to the printer", guard: "none" });
          await look();
          await context.renew({ stage: "preflight", reason: "sorting the pages of chapter 3" });
          await look();
        });
        await world.reaches(taskId, "settled");
        assert.deepEqual(seen, [
          ["external_call", undefined],
          ["external_call", "none"],
          ["preflight", undefined],
        ]);
        assert.equal(renewals(worker), 3);
      },
    },
    {
      name: "an attempt is cut off at maxRun, whatever it claims",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const startedAt = world.now();
        let abortedAt = 0;
        const { taskId } = await play(
          world,
          async (context, nap) => {
            context.signal.addEventListener("abort", () => {
              abortedAt = world.now();
            });
            for (let done = 1; !context.signal.aborted; done++) {
              await context.renew({ stage: "external_call", progress: { done }, budget: "1h" });
              await nap(10_000);
            }
            throw new Error("over");
          },
          { maxRun: "5m" },
          { faults: ONE_ATTEMPT },
        );
        const record = await world.reaches(taskId, "released");
        assert.ok(
          abortedAt - startedAt >= 300_000 && abortedAt - startedAt < 301_000,
          `aborted after ${abortedAt - startedAt} ms`,
        );
        assert.match(record.last_error ?? "", /progress/);
      },
    },
    ...(["a crash", "an error"] as const).map((how) => ({
      name: `${how} after a claim with guard none parks at the retry`,
      needs: ["faults" as const],
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { taskId, worker } = await play(world, async (context) => {
          assert.equal(context.fence, 1, "it must not run again");
          await context.renew({ stage: "external_call", reason: "sent the order to the printer", guard: "none" });
          if (how === "a crash") worker.crash();
          throw new RetryableError("no answer");
        });
        if (how === "a crash") {
          await world.until(() => worker.dead);
          world.worker("b", { tasks: [taskOf(world, { run: () => assert.fail("it must not run") })] });
        }
        expectFacts(await world.reaches(taskId, "parked"), {
          code: "unguarded_call",
          stage: "external_call",
          attempts_total: 2,
        });
      },
    })),
    ...(["preflight", "external_call"] as const).map((stage) => ({
      name: `a task type may park instead of retrying from ${stage}`,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { taskId } = await play(
          world,
          async (context) => {
            assert.equal(context.fence, 1, "it must not run again");
            if (stage === "external_call") await context.renew({ stage, reason: "sent the order to the printer" });
            throw new Error("no answer");
          },
          { retry: { [stage]: "park" } },
        );
        expectFacts(await world.reaches(taskId, "parked"), { code: "retry_rule", stage, attempts_total: 2 });
      },
    })),
  ],
};
