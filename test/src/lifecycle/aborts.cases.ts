import assert from "node:assert/strict";
import { isLeaseholdError, ParkError, PermanentError, RetryableError } from "@leasehold/core";
import { parseTime } from "@leasehold/core/driver";
import type { Case, Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedClient, World } from "./harness.ts";
import {
  aborted,
  counted,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  type Facts,
  ONE_ATTEMPT,
  raise,
  taskOf,
} from "./support.ts";

interface Reason {
  readonly reason: "cancelled" | "deadline" | "no_progress" | "shutdown";
  /** Enqueue options that make it come. */
  readonly options?: (world: World) => Parameters<PlayedClient["client"]["enqueue"]>[2];
  /** Makes it come. */
  bring?(
    world: World,
    parts: { readonly client: PlayedClient; readonly taskId: string; readonly stop: () => Promise<void> },
  ): void;
  readonly left: Partial<Facts>;
}

const REASONS: readonly Reason[] = [
  {
    reason: "cancelled",
    bring: (_world, { client, taskId }) => void client.client.cancel(taskId),
    left: { status: "cancelled", code: "cancelled", attempt: 1 },
  },
  {
    reason: "deadline",
    options: (world) => ({ deadline: new Date(world.now() + world.timing.leaseMs) }),
    left: { status: "dead_lettered", code: "deadline_passed", attempt: 1 },
  },
  { reason: "no_progress", left: { status: "released", attempt: 1, code: undefined } },
  {
    reason: "shutdown",
    bring: (_world, { stop }) => void stop(),
    left: { status: "released", attempt: 0, attempts_total: 1, code: undefined },
  },
];

/** What the handler does once its signal has aborted: only a normal return counts. */
const ANSWERS: Readonly<Record<string, () => unknown>> = {
  "throws PermanentError": raise(new PermanentError("mine")),
  "throws ParkError": raise(new ParkError("mine")),
  "throws RetryableError": raise(new RetryableError("mine")),
  "throws the signal's reason": () => "reason",
  "returns normally": () => "done",
};

function reasonCase(row: Reason, answer: string): Case<LifecycleHarness> {
  const settles = answer === "returns normally";
  return {
    name: `${row.reason}: the handler ${answer}: ${settles ? "settled" : row.left.status}`,
    needs: ["time", "faults"],
    async run(harness) {
      const world = await harness.open();
      const { leaseMs } = world.timing;
      const reasons: string[] = [];
      let started = false;
      const task = taskOf(world, {
        async run(context) {
          await context.renew({
            stage: "external_call",
            reason: "rendering chapter 3",
            budget: row.reason === "no_progress" ? leaseMs / 2 : 100 * leaseMs,
          });
          started = true;
          reasons.push(await aborted(context.signal));
          if (answer === "throws the signal's reason") throw context.signal.reason;
          return ANSWERS[answer]?.();
        },
      });
      const client = world.client();
      const taskId = await enqueue(world, client, task, row.options?.(world) ?? {});
      const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
      await world.until(() => started);
      let stopped: Promise<void> | undefined;
      row.bring?.(world, {
        client,
        taskId,
        stop: () => {
          stopped = worker.stop();
          return stopped;
        },
      });
      if (stopped !== undefined) await stopped;
      const record = await world.reaches(taskId, ({ status }) => status !== "leased" && status !== "queued");
      expectFacts(
        record,
        settles
          ? { status: "settled", attempt: 1, attempts_total: 1 }
          : { stage: "external_call", attempts_total: 1, ...row.left },
      );
      assert.deepEqual(reasons, [row.reason]);
      if (row.reason === "shutdown" && !settles) assert.equal(record.not_before, record.updated_at, "released for now");
    },
  };
}

export const aborts: Suite<LifecycleHarness> = {
  subject: "aborts",
  cases: [
    ...REASONS.flatMap((row) => Object.keys(ANSWERS).map((answer) => reasonCase(row, answer))),
    {
      name: "cancel of a waiting task ends it at once, and its message is completed unrun",
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: () => assert.fail("it must not run") });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        const answer = await world.until(client.client.cancel(taskId, { reason: "not wanted" }));
        assert.equal(answer.outcome, "cancelled");
        const record = await world.record(taskId);
        expectFacts(record, { status: "cancelled", code: "cancelled", fence: 0, attempts_total: 0 });
        assert.match(record.end_reason ?? "", /not wanted/);
        world.worker("a", { tasks: [task] });
        await expectQueueEmpty(world);
        assert.deepEqual(await world.record(taskId), record);
      },
    },
    {
      name: "cancel of a released task ends it at once, and its message is completed unrun",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world, raise(new RetryableError("later")));
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        const worker = world.worker("a", { tasks: [task], faults: ONE_ATTEMPT });
        await world.reaches(taskId, "released");
        assert.equal((await world.until(client.client.cancel(taskId))).outcome, "cancelled");
        worker.heal();
        await expectQueueEmpty(world);
        expectFacts(await world.record(taskId), { status: "cancelled", attempt: 1, fence: 1 });
        assert.equal(runs(), 1);
      },
    },
    {
      name: "cancel of a parked task ends it at once; a settled one refuses",
      async run(harness) {
        const world = await harness.open();
        const parks = taskOf(world, { run: raise(new ParkError("ask")) });
        const settles = taskOf(world, { type: "settles", run: () => "done" });
        const client = world.client();
        const parked = await enqueue(world, client, parks);
        const settled = await enqueue(world, client, settles);
        world.worker("a", { tasks: [parks, settles] });
        await world.reaches(parked, "parked");
        await world.reaches(settled, "settled");
        assert.equal((await world.until(client.client.cancel(parked))).outcome, "cancelled");
        expectFacts(await world.record(parked), { status: "cancelled" });
        assert.equal((await world.until(client.client.cancel(settled))).outcome, "refused");
        expectFacts(await world.record(settled), { status: "settled" });
        assert.equal((await world.until(client.client.cancel("no-such-task"))).outcome, "missing");
      },
    },
    {
      name: "cancel of a leased task is heard within half a lease",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        let heardAt = 0;
        const task = taskOf(world, {
          async run(context) {
            await aborted(context.signal);
            heardAt = world.now();
            throw context.signal.reason;
          },
        });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [task] });
        await world.reaches(taskId, "leased");
        await world.wait(1_000);
        const askedAt = world.now();
        const answer = await world.until(client.client.cancel(taskId));
        assert.deepEqual([answer.outcome, "by" in answer && answer.by], ["requested", "holder"]);
        await world.reaches(taskId, "cancelled");
        assert.ok(heardAt - askedAt <= world.timing.leaseMs / 2, `heard after ${heardAt - askedAt} ms`);
        await expectQueueEmpty(world);
      },
    },
    {
      name: "the deadline aborts on time",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        let heardAt = 0;
        const task = taskOf(world, {
          async run(context) {
            await aborted(context.signal);
            heardAt = world.now();
          },
        });
        const deadline = world.now() + 10_000;
        const taskId = await enqueue(world, world.client(), task, { deadline: new Date(deadline) });
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(taskId, "settled");
        assert.ok(heardAt >= deadline && heardAt < deadline + 50, `heard ${heardAt - deadline} ms after`);
        assert.ok(parseTime(record.settled_at as string) >= deadline);
      },
    },
    {
      name: "after the lease every call of the handler's task throws LeaseLost",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const codes: string[] = [];
        const task = taskOf(world, {
          effects: [publish],
          stages: { preflight: { budget: 1_000 } },
          async run(context) {
            if (context.fence > 1) return "second";
            await aborted(context.signal);
            const calls = [
              () => context.renew({ stage: "external_call", reason: "rendering chapter 3" }),
              () => context.effect(publish, {}),
            ];
            for (const call of calls) {
              try {
                await call();
                codes.push("none");
              } catch (error) {
                codes.push(isLeaseholdError(error) ? error.code : String(error));
              }
            }
            throw new Error("over");
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 2 });
        assert.deepEqual(codes, ["LeaseLost", "LeaseLost"]);
        assert.equal(world.system.made(), 0);
      },
    },
  ],
};
