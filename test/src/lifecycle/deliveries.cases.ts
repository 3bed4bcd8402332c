import assert from "node:assert/strict";
import { ParkError, PermanentError } from "@leasehold/core";
import { formatTime, ownSource, parseTime } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, World } from "./harness.ts";
import {
  abandonDelays,
  counted,
  deadLetterCodes,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  raise,
  ring,
  sendEvent,
  taskOf,
  UNREACHABLE,
  unlessAble,
} from "./support.ts";

const NO_TYPES = { type: "another_type" };

/** Somebody else acquires the task. */
async function holdElsewhere(world: World, taskId: string, leaseMs: number): Promise<string> {
  const token = `held-${taskId}`;
  const { maxClockSkewMs } = world.timing;
  const answer = await world.store.acquire({
    taskId,
    owner: "elsewhere",
    token,
    at: world.now(),
    leaseMs,
    maxClockSkewMs,
  });
  assert.equal(answer.outcome, "acquired");
  return token;
}

/** The table of what is done with a delivery, in its order: records that are not run. */
export const deliveries: Suite<LifecycleHarness> = {
  subject: "what is done with a delivery",
  cases: [
    {
      name: "the store cannot be reached: put away with back-off, never dead-lettered",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", {
          tasks: [task],
          recovery: false,
          faults: [{ on: "store.acquire", fault: { error: UNREACHABLE }, times: Number.POSITIVE_INFINITY }],
        });
        await world.until(() => abandonDelays(worker).length >= 3);
        assert.deepEqual(await deadLetterCodes(world), []);
        expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        worker.heal();
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
        assert.equal(runs(), 1);
      },
    },
    {
      name: "the answer of acquire is lost: the lease is recognised as our own",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        world.worker("a", { tasks: [task], faults: [{ on: "store.acquire", fault: { drop: "after" } }] });
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1, fence: 1 });
        assert.equal(runs(), 1);
      },
    },
    {
      name: "a record that does not parse: put away, never dead-lettered, and the worker goes on with others",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        const broken = async (stage: string): Promise<unknown> =>
          world.items.update(`task#${taskId}`, { set: { stage } }, { exists: "task_id" });
        await broken("unheard of");
        const worker = world.worker("a", { tasks: [task], recovery: false });
        await world.until(() => abandonDelays(worker).length >= 2);
        const other = await enqueue(world, client, task, { key: "two" });
        expectFacts(await world.reaches(other, "settled"), { attempt: 1 });
        assert.deepEqual(await deadLetterCodes(world), []);
        assert.ok(
          worker.log.some((line) => line.includes("stage")),
          "the log names the field",
        );
        await broken("preflight");
        expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
      },
    },
    ...(["another input", "another type"] as const).map((what) => ({
      name: `the same id with ${what}: that delivery is dead-lettered, the record is not touched, settled or not`,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const other = taskOf(world, { ...NO_TYPES, run: () => "done" });
        const taskId = await enqueue(world, world.client(), task);
        const event =
          what === "another input" ? { type: task.type, data: { n: 2 } } : { type: other.type, data: { n: 1 } };
        const conflict = { id: taskId, source: ownSource(world.queue.queue), time: formatTime(world.now()), ...event };
        await sendEvent(world, conflict);
        world.worker("a", { tasks: [task, other] });
        const settled = await world.reaches(taskId, "settled");
        await expectQueueEmpty(world);
        await sendEvent(world, conflict);
        await expectQueueEmpty(world);
        const codes = (await deadLetterCodes(world)).filter((code) => code === "task_id_conflict");
        // Where the record is the dead letter, both deliveries may be kept as one.
        assert.ok(
          codes.length === 2 || (world.queue.deadLetters === undefined && codes.length > 0),
          `${codes.length} dead letters`,
        );
        assert.deepEqual(await world.record(taskId), settled);
        assert.equal(runs(), 1);
      },
    })),
    {
      name: "settled: completed, not run again",
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await world.worker("a", { tasks: [task] });
        const settled = await world.reaches(taskId, "settled");
        for (let count = 0; count < 3; count++) await ring(world, taskId);
        await expectQueueEmpty(world);
        assert.deepEqual(await world.record(taskId), settled);
        assert.equal(runs(), 1);
        assert.deepEqual(await deadLetterCodes(world), []);
      },
    },
    {
      name: "dead-lettered: that end is applied to the next delivery too",
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world, raise(new PermanentError("never works")));
        const taskId = await enqueue(world, world.client(), task);
        await world.worker("a", { tasks: [task] });
        const ended = await world.reaches(taskId, "dead_lettered");
        await ring(world, taskId);
        await expectQueueEmpty(world);
        assert.deepEqual(await world.record(taskId), ended);
        assert.equal(runs(), 1);
        const letters = world.queue.deadLetters === undefined ? 1 : 2;
        assert.deepEqual(
          await deadLetterCodes(world),
          Array.from({ length: letters }, () => "permanent_error"),
        );
      },
    },
    ...(["parked", "cancelled"] as const).map((status) => ({
      name: `${status}: completed, not run, even when its deadline has passed`,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { task, runs } = counted(world, raise(new ParkError("ask")));
        const client = world.client();
        const deadlineMs = world.now() + world.timing.leaseMs;
        const taskId = await enqueue(world, client, task, { deadline: new Date(deadlineMs) });
        if (status === "cancelled") await world.until(client.client.cancel(taskId));
        world.worker("a", { tasks: [task] });
        const ended = await world.reaches(taskId, status);
        await expectQueueEmpty(world);
        await world.wait(Math.max(deadlineMs - world.now(), 0) + harness.toleranceMs + 1);
        await ring(world, taskId);
        await expectQueueEmpty(world);
        assert.deepEqual(await world.record(taskId), ended);
        assert.equal(runs(), status === "parked" ? 1 : 0);
        assert.deepEqual(await deadLetterCodes(world), []);
      },
    })),
    {
      name: "held elsewhere: put away until the lease could be taken over, longer with each delivery, though its deadline has passed",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs, maxClockSkewMs } = world.timing;
        const { maxAbandonDelayMs } = world.queue.capabilities;
        const { task, runs } = counted(world);
        const taskId = await enqueue(world, world.client(), task, { deadline: new Date(world.now() + 1_000) });
        await holdElsewhere(world, taskId, 3 * leaseMs);
        await world.wait(2_000);
        const worker = world.worker("a", { tasks: [task], recovery: false });
        const delivered = (): number => worker.deliveries.length;
        await world.until(() => delivered() >= 1 && abandonDelays(worker).length >= 1);
        const left = parseTime((await world.record(taskId)).lease_expires_at as string) + maxClockSkewMs - world.now();
        const [first = 0] = abandonDelays(worker);
        const expected = Math.min(Math.max(left, leaseMs), maxAbandonDelayMs);
        assert.ok(Math.abs(first - expected) <= 50, `put away for ${first} ms, expected ${expected} ms`);
        expectFacts(await world.reaches(taskId, "dead_lettered"), { code: "deadline_passed" });
        assert.equal(runs(), 0);
      },
    },
    {
      name: "held elsewhere: the delay doubles with the broker's count, at most 10 min",
      needs: ["time", "faults"],
      unless: unlessAble("count deliveries", "delay an abandon"),
      async run(harness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        const { task } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        const held = { taskId, token: await holdElsewhere(world, taskId, leaseMs) };
        const worker = world.worker("a", { tasks: [task], recovery: false });
        let seq = 0;
        let renewedAt = world.now();
        await world.until(async () => {
          if (world.now() - renewedAt >= leaseMs / 4) {
            renewedAt = world.now();
            await world.store.renew({ ...held, seq: ++seq, at: renewedAt, leaseMs });
          }
          return abandonDelays(worker).length >= 6;
        });
        const { maxAbandonDelayMs } = world.queue.capabilities;
        const expected = [1, 2, 4, 8, 16, 32].map((factor) => Math.min(factor * leaseMs, 600_000, maxAbandonDelayMs));
        const delays = abandonDelays(worker);
        // The first may be longer by what is left of the lease and the skew.
        assert.ok((delays[0] as number) - (expected[0] as number) <= world.timing.maxClockSkewMs);
        assert.deepEqual(delays.slice(1), expected.slice(1));
        assert.equal((await world.record(taskId)).lease_owner, "elsewhere");
      },
    },
    {
      name: "lapsed, within the skew: not taken over yet, however early a message comes",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs, maxClockSkewMs } = world.timing;
        const { task } = counted(world);
        const taskId = await enqueue(world, world.client(), task);
        await holdElsewhere(world, taskId, leaseMs);
        const { lease_expires_at: expiresAt = "" } = await world.record(taskId);
        await world.wait(leaseMs + maxClockSkewMs / 2);
        const worker = world.worker("a", { tasks: [task] });
        await world.until(() => abandonDelays(worker).length > 0);
        expectFacts(await world.record(taskId), { status: "leased", fence: 1 });
        const record = await world.reaches(taskId, "settled");
        expectFacts(record, {
          attempt: 2,
          log: [
            ["expired", "preflight"],
            ["settled", "preflight"],
          ],
        });
        assert.ok(parseTime(record.acquired_at as string) > parseTime(expiresAt) + maxClockSkewMs);
      },
    },
  ],
};
