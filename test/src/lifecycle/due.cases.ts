import assert from "node:assert/strict";
import { RetryableError } from "@leasehold/core";
import { formatTime, ownSource, parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker } from "./harness.ts";
import {
  abandonDelays,
  deadLetterCodes,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  raise,
  ring,
  SETTLED,
  sendEvent,
  taskOf,
  unlessAble,
} from "./support.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The table of what is done with a delivery, further down: tasks that are ended, put off or run. */
export const due: Suite<LifecycleHarness> = {
  subject: "what is due",
  cases: [
    {
      name: "the deadline has passed: ended without a run, before anything else about it is asked",
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { attempts: 1, run: () => assert.fail("it must not run") });
        const taskId = await enqueue(world, world.client(), task, { deadline: new Date(world.now() + 1_000) });
        await world.wait(1_001 + harness.toleranceMs);
        world.worker("a", { tasks: [task] });
        expectFacts(await world.reaches(taskId, "dead_lettered"), { code: "deadline_passed", fence: 1, effects: {} });
        await expectQueueEmpty(world);
        assert.deepEqual(await deadLetterCodes(world), ["deadline_passed"]);
      },
    },
    {
      name: "attempts used up: a crash loop ends without a run after the last attempt",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const attempts = 3;
        let runs = 0;
        let current: PlayedWorker | undefined;
        const task = taskOf(world, {
          attempts,
          async run(context) {
            runs += 1;
            await context.renew({ stage: "external_call", reason: "loading the model for chapter 3" });
            current?.crash();
            return new Promise(() => undefined);
          },
        });
        const taskId = await enqueue(world, world.client(), task);
        for (let count = 1; count <= attempts; count++) {
          const worker = world.worker(`w${count}`, { tasks: [task] });
          current = worker;
          await world.until(() => worker.dead);
          expectFacts(await world.record(taskId), { status: "leased", attempt: count, attempts_total: count });
        }
        current = undefined;
        world.worker("last", { tasks: [task] });
        const expired = Array.from({ length: attempts }, () => ["expired", "external_call"] as const);
        expectFacts(await world.reaches(taskId, "dead_lettered"), {
          code: "attempts_exhausted",
          attempts_total: attempts + 1,
          log: [...expired, ["dead_lettered", "external_call"]],
        });
        await expectQueueEmpty(world);
        assert.equal(runs, attempts);
      },
    },
    {
      name: "attempts used up with an effect that is there: dead-lettered naming the receipt, or settled where nothing follows it",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        for (const settledBy of [undefined, "publish"]) {
          const publish = world.system.effect("idempotent");
          const task = taskOf(world, {
            type: `publish_${settledBy ?? "and_more"}`,
            attempts: 1,
            effects: [publish],
            ...(settledBy === undefined ? {} : { settledBy }),
            run: (context) => context.effect(publish, {}),
          });
          const taskId = await enqueue(world, world.client(), task);
          const dies = world.worker("a", {
            tasks: [task],
            faults: [{ on: "store.recordReceipt", fault: { crash: "before" } }],
          });
          await world.until(() => dies.dead);
          const worker = world.worker("b", { tasks: [task] });
          const record = await world.reaches(taskId, settledBy === undefined ? "dead_lettered" : "settled");
          expectFacts(record, { effects: { publish: "verified" }, open: 0, attempts_total: 2 });
          if (settledBy === undefined)
            assert.match(record.end_reason ?? "", /^attempts_exhausted: .*publish is in blog as thing-1/);
          await worker.stop();
        }
        assert.deepEqual(
          world.system.ledger.map(({ fence }) => fence),
          [1, 1],
        );
      },
    },
    {
      name: "not yet due: put away for the remaining time, started at it",
      needs: ["time", "faults"],
      unless: unlessAble("delay an abandon"),
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: () => "done" });
        const notBefore = new Date(world.now() + 240_000);
        const taskId = await enqueue(world, world.client(), task, { notBefore });
        const worker = world.worker("a", { tasks: [task], recovery: false });
        await ring(world, taskId);
        await world.until(() => abandonDelays(worker).length > 0);
        expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        const [delayMs = 0] = abandonDelays(worker);
        assert.ok(Math.abs(notBefore.getTime() - world.now() - delayMs) <= 50, `put away for ${delayMs} ms`);
        const record = await world.reaches(taskId, "settled");
        const lateMs = parseTime(record.acquired_at as string) - notBefore.getTime();
        assert.ok(lateMs >= 0 && lateMs <= 1_000, `${lateMs} ms late`);
        await expectQueueEmpty(world);
      },
    },
    {
      name: "not yet due for longer than the broker holds a message: completed, and rung at the time",
      needs: ["time"],
      unless: unlessAble("short delay"),
      async run(harness) {
        const world = await harness.open({ maxDelayMs: 60_000 });
        const { recoverAfterMs, leaseMs } = world.timing;
        const task = taskOf(world, { run: () => "done" });
        const notBefore = new Date(world.now() + HOUR_MS);
        const taskId = await enqueue(world, world.client(), task, { notBefore });
        world.worker("a", { tasks: [task] });
        await ring(world, taskId);
        await expectQueueEmpty(world);
        expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        const record = await world.reaches(taskId, "settled");
        const lateMs = parseTime(record.acquired_at as string) - notBefore.getTime();
        assert.ok(lateMs >= 0 && lateMs <= recoverAfterMs + recoverAfterMs + 2 * leaseMs, `${lateMs} ms late`);
      },
    },
    {
      name: "a delay of 30 days: nothing is sent, and recovery rings at the time",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { recoverAfterMs, leaseMs } = world.timing;
        const task = taskOf(world, { run: () => "done" });
        const notBefore = world.now() + 30 * DAY_MS;
        const client = world.client();
        const outcome = await world.until(
          client.client.enqueue(task, { n: 1 }, { key: "one", notBefore: new Date(notBefore) }),
        );
        assert.equal("delivery" in outcome && outcome.delivery, "left_to_recovery");
        assert.ok(!client.calls.some(({ name }) => name === "queue.send"));
        await world.wait(30 * DAY_MS - HOUR_MS);
        world.worker("a", { tasks: [task] });
        const record = await world.reaches(outcome.task.task_id, "settled");
        expectFacts(record, { attempt: 1, attempts_total: 1 });
        const lateMs = parseTime(record.acquired_at as string) - notBefore;
        assert.ok(lateMs >= 0 && lateMs <= 2 * recoverAfterMs + 2 * leaseMs, `${lateMs} ms late`);
      },
    },
    {
      name: "a task that waits past its deadline ends at it",
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: raise(new RetryableError("later", { retryAfterMs: DAY_MS })) });
        const deadline = world.now() + 600_000;
        const taskId = await enqueue(world, world.client(), task, { deadline: new Date(deadline) });
        world.worker("a", { tasks: [task] });
        await world.reaches(taskId, "released");
        const record = await world.reaches(taskId, "dead_lettered");
        expectFacts(record, { code: "deadline_passed", fence: 2 });
        assert.ok(parseTime(record.updated_at) >= deadline);
      },
    },
    {
      name: "the record is without its payload: dead-lettered, or parked with an open effect",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const client = world.client();
        const forget = (taskId: string) =>
          world.items.update(
            `task#${taskId}`,
            { set: { payload_ref: `payload#${taskId}#gone` } },
            { exists: "task_id" },
          );

        const plain = taskOf(world, { run: () => assert.fail("it must not run") });
        const taskId = await enqueue(world, client, plain, { notBefore: new Date(world.now() + DAY_MS) });
        await forget(taskId);
        await world.items.update(`task#${taskId}`, { remove: ["not_before"] }, { exists: "task_id" });
        await ring(world, taskId);
        const worker = world.worker("a", { tasks: [plain] });
        expectFacts(await world.reaches(taskId, "dead_lettered"), { code: "payload_missing" });
        await worker.stop();

        const open = taskOf(world, {
          type: "with_effect",
          effects: [publish],
          run: (context) => context.effect(publish, {}),
        });
        const other = await enqueue(world, client, open);
        const dies = world.worker("b", {
          tasks: [open],
          faults: [{ on: "store.beginEffect", fault: { crash: "after" } }],
        });
        await world.until(() => dies.dead);
        await forget(other);
        await world.broker.act("lose", other);
        world.worker("c", { tasks: [open] });
        expectFacts(await world.reaches(other, "parked"), { code: "payload_missing", effects: { publish: "started" } });
      },
      unless: unlessAble("lose"),
    },
    {
      name: "an input that its schema refuses is dead-lettered at once, without a run",
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: () => assert.fail("it must not run") });
        world.worker("a", { tasks: [task] });
        await sendEvent(world, {
          id: "wrong",
          source: ownSource(world.queue.queue),
          type: task.type,
          data: { n: "seven" },
          time: formatTime(world.now()),
        });
        await world.until(async () => (await world.store.get("wrong"))?.status === "dead_lettered");
        const record = await world.record("wrong");
        expectFacts(record, { code: "invalid_input", attempts_total: 1 });
        assert.match(record.end_reason ?? "", /n/);
        assert.doesNotMatch(record.end_reason ?? "", /seven/, "no part of the input");
        await expectQueueEmpty(world);
        assert.deepEqual(await deadLetterCodes(world), ["invalid_input"]);
      },
    },
    {
      name: "an unknown type is not acquired; after an hour in one process it is dead-lettered",
      needs: ["time", "faults"],
      unless: unlessAble("delay an abandon"),
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { type: "not_yet_deployed", run: () => "done" });
        const known = taskOf(world, { run: () => "done" });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        world.worker("a", { tasks: [known] });
        await world.wait(HOUR_MS - 60_000);
        expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        expectFacts(await world.reaches(taskId, "dead_lettered", { withinMs: HOUR_MS }), {
          code: "unknown_type",
          fence: 1,
        });
      },
    },
    {
      name: "an unknown type waits for a worker that knows it",
      needs: ["time", "faults"],
      unless: unlessAble("delay an abandon"),
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, {
          type: "not_yet_deployed",
          effects: [publish],
          run: (context) => context.effect(publish, {}),
        });
        const old = taskOf(world, { run: () => "done" });
        const taskId = await enqueue(world, world.client(), task);
        world.worker("old", { tasks: [old] });
        await world.wait(HOUR_MS / 2);
        world.worker("new", { tasks: [old, task] });
        expectFacts(await world.reaches(taskId, "settled", { withinMs: HOUR_MS / 2 }), {
          ...SETTLED,
          attempt: 1,
          attempts_total: 1,
        });
      },
    },
  ],
};
