import assert from "node:assert/strict";
import { isLeaseholdError, ParkError, PermanentError, RetryableError } from "@leasehold/core";
import { type Delivery, parseTime, sleep } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedClient, World } from "./harness.ts";
import {
  abandonedDeliveries,
  aborted,
  type Context,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  gate,
  type TestTask,
  taskOf,
  unlessAble,
} from "./support.ts";

const WAITING = { stage: "external_call", reason: "waiting for model batch result", budget: "3h" } as const;

/** Enqueues tasks of one ordering key, numbered from 1, and answers their ids. */
async function enqueueInOrder(
  world: World,
  client: PlayedClient,
  task: TestTask,
  count: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) {
    const { task: record } = await world.until(
      client.client.enqueue(task, { n }, { key: String(n), orderingKey: "cart-7" }),
    );
    ids.push(record.task_id);
    // So that the times of sending tell which is later.
    await world.wait(10);
  }
  return ids;
}

/** A task type that notes when its tasks start and end. */
function noted(
  world: World,
  run: (context: Context) => unknown,
): { readonly task: TestTask; readonly events: string[] } {
  const events: string[] = [];
  const task = taskOf(world, {
    async run(context) {
      events.push(`${context.input.n} starts`);
      try {
        return await run(context);
      } finally {
        events.push(`${context.input.n} ends`);
      }
    },
  });
  return { task, events };
}

const oneByOne = (...numbers: readonly number[]): readonly string[] =>
  numbers.flatMap((n) => [`${n} starts`, `${n} ends`]);
const unordered = unlessAble("ordering");

/** Tasks of one key start in order, one at a time. */
export const orderingKeys: Suite<LifecycleHarness> = {
  subject: "ordering keys",
  cases: [
    {
      name: "in order, one at a time, across two workers",
      unless: unordered,
      async run(harness) {
        const world = await harness.open();
        const nap = gate();
        const { task, events } = noted(world, async () => {
          await Promise.resolve();
          if (events.length === 1) await nap.wait();
        });
        const ids = await enqueueInOrder(world, world.client(), task, 6);
        world.worker("a", { tasks: [task] });
        world.worker("b", { tasks: [task] });
        await world.until(nap.reached);
        await world.wait(1_000);
        nap.open();
        for (const taskId of ids)
          expectFacts(await world.reaches(taskId, "settled"), { attempt: 1, attempts_total: 1 });
        assert.deepEqual(events, oneByOne(1, 2, 3, 4, 5, 6));
        await expectQueueEmpty(world);
      },
    },
    {
      name: "the waiting tail is hidden with its head, not acquired, for as long as that runs",
      unless: unordered,
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { leaseMs } = world.timing;
        const { task, events } = noted(world, async (context) => {
          await context.renew(WAITING);
          if (context.input.n === 1) await sleep(worker.clock, 5 * leaseMs, context.signal);
        });
        const [, second = "", third = ""] = await enqueueInOrder(world, world.client(), task, 3);
        const worker = world.worker("a", { tasks: [task], recovery: false });
        world.worker("b", { tasks: [task], recovery: false });
        await world.wait(4 * leaseMs);
        for (const taskId of [second, third]) expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        await world.reaches(third, "settled");
        assert.deepEqual(events, oneByOne(1, 2, 3));
      },
    },
    {
      name: "a head that is given back is started again before its tail",
      unless: unordered,
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, events } = noted(world, (context) => {
          if (context.input.n === 1 && context.fence <= 2) throw new RetryableError("later");
        });
        const ids = await enqueueInOrder(world, world.client(), task, 4);
        world.worker("a", { tasks: [task] });
        world.worker("b", { tasks: [task] });
        for (const taskId of ids) await world.reaches(taskId, "settled");
        assert.deepEqual(events, oneByOne(1, 1, 1, 2, 3, 4));
        expectFacts(await world.record(ids[0] as string), { attempt: 3 });
        expectFacts(await world.record(ids[1] as string), { attempt: 1, attempts_total: 1 });
        await expectQueueEmpty(world);
      },
    },
    {
      name: "what is given back goes last first: tail, then head",
      unless: unordered,
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = noted(world, (context) => {
          if (context.input.n === 1 && context.fence === 1) throw new RetryableError("later");
        });
        const ids = await enqueueInOrder(world, world.client(), task, 3);
        const worker = world.worker("a", { tasks: [task] });
        await world.reaches(ids[2] as string, "settled");
        const idOf = ({ body }: Delivery): string => (JSON.parse(body) as { id: string }).id;
        // A broker may hand out a key one by one: what was here is all that came before the head came again.
        const held = worker.deliveries.findIndex((delivery, index) => index > 0 && idOf(delivery) === ids[0]);
        assert.ok(held >= 1, "the head did not come again");
        assert.deepEqual(abandonedDeliveries(worker).slice(0, held).map(idOf), ids.slice(0, held).reverse());
      },
    },
    {
      name: "a wait holds the key in place, for orderHold at the most",
      unless: unordered,
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, events } = noted(world, (context) => {
          if (context.input.n === 1 && context.fence === 1)
            throw new RetryableError("much later", { retryAfterMs: 3_600_000 });
        });
        const [head = "", tail = ""] = await enqueueInOrder(world, world.client(), task, 2);
        world.worker("a", { tasks: [task], orderHold: "1m" });
        const released = await world.reaches(head, "released");
        assert.equal(parseTime(released.not_before as string) - parseTime(released.updated_at), 60_000);
        await world.reaches(tail, "settled");
        assert.deepEqual(events, oneByOne(1, 1, 2));
      },
    },
    ...(["parked", "dead_lettered"] as const).map((status) => ({
      name: `a ${status} task gives way`,
      unless: unordered,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { task, events } = noted(world, (context) => {
          if (context.input.n === 1)
            throw status === "parked" ? new ParkError("ask") : new PermanentError("never works");
        });
        const [head = "", second = "", third = ""] = await enqueueInOrder(world, world.client(), task, 3);
        world.worker("a", { tasks: [task] });
        await world.reaches(third, "settled");
        assert.deepEqual(events, oneByOne(1, 2, 3));
        expectFacts(await world.record(head), { status });
        expectFacts(await world.record(second), { status: "settled" });
        await expectQueueEmpty(world);
      },
    })),
    {
      name: "loss of the head's broker lease is loss: aborted, given back, and nothing overtakes it",
      unless: unlessAble("ordering", "expire", "tell a lost lease"),
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const reasons: string[] = [];
        const { task, events } = noted(world, async (context) => {
          if (context.input.n > 1 || context.fence > 1) return;
          await context.renew(WAITING);
          reasons.push(await aborted(context.signal));
          throw context.signal.reason;
        });
        const [head = "", , third = ""] = await enqueueInOrder(world, world.client(), task, 3);
        world.worker("a", { tasks: [task] });
        await world.reaches(head, ({ stage }) => stage === "external_call");
        await world.broker.act("expire", head);
        await world.reaches(third, "settled");
        assert.deepEqual(reasons, ["taken_over"]);
        assert.deepEqual(events, oneByOne(1, 1, 2, 3));
        expectFacts(await world.record(head), { status: "settled", attempts_total: 2 });
        await expectQueueEmpty(world);
      },
    },
    {
      name: "the handler settles its own message behind the worker's back: the signal aborts",
      unless: unlessAble("ordering", "tell a lost lease"),
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const reasons: string[] = [];
        const { task } = noted(world, async (context) => {
          if (context.fence > 1) return;
          const [delivery] = worker.deliveries;
          assert.ok(delivery !== undefined);
          await world.queue.settle([{ verb: "complete", delivery }]);
          await context.renew(WAITING);
          reasons.push(await aborted(context.signal));
          throw context.signal.reason;
        });
        const [taskId = ""] = await enqueueInOrder(world, world.client(), task, 1);
        const worker = world.worker("a", { tasks: [task] });
        await world.reaches(taskId, "released");
        assert.deepEqual(reasons, ["taken_over"]);
        // Its message is gone: an hour later it is rung.
        expectFacts(await world.reaches(taskId, "settled"), { attempts_total: 2 });
      },
    },
    {
      name: "the broker's ceiling caps the run",
      unless: unlessAble("ordering", "total lease"),
      needs: ["time"],
      async run(harness) {
        const totalLeaseMs = 600_000;
        const world = await harness.open({ totalLeaseMs });
        const startedAt = world.now();
        const heard: (readonly [string, number])[] = [];
        const { task, events } = noted(world, async (context) => {
          if (context.input.n > 1 || context.fence > 1) return;
          await context.renew(WAITING);
          heard.push([await aborted(context.signal), world.now() - startedAt]);
          throw context.signal.reason;
        });
        const [, tail = ""] = await enqueueInOrder(world, world.client(), task, 2);
        world.worker("a", { tasks: [task] });
        await world.reaches(tail, "settled");
        assert.equal(heard.length, 1);
        const [reason, afterMs = 0] = heard[0] ?? [];
        assert.equal(reason, "expired");
        assert.ok(afterMs >= 0.9 * totalLeaseMs && afterMs < totalLeaseMs, `after ${afterMs} ms`);
        assert.deepEqual(events, oneByOne(1, 1, 2));
      },
    },
    {
      name: "a key and notBefore do not go together; neither does a queue without order",
      unless: unordered,
      async run(harness) {
        const world = await harness.open();
        const { task } = noted(world, () => undefined);
        const options = { orderingKey: "cart-7", notBefore: new Date(world.now() + 60_000) };
        await assert.rejects(world.until(world.client().client.enqueue(task, { n: 1 }, options)), (error: unknown) =>
          isLeaseholdError(error, "Unsupported"),
        );
      },
    },
    {
      name: "a lost message is rung once a later one of its key has come, else after an hour; it joins the end",
      unless: unlessAble("ordering", "lose"),
      needs: ["time"],
      async run(harness) {
        const world = await harness.open();
        const { recoverAfterMs, leaseMs } = world.timing;
        const { task, events } = noted(world, () => undefined);
        const client = world.client();
        const [first = "", second = ""] = await enqueueInOrder(world, client, task, 2);
        const alone = await enqueue(world, client, task, { key: "alone", orderingKey: "cart-8" });
        await world.broker.act("lose", first);
        await world.broker.act("lose", alone);
        const enqueuedAt = world.now();
        world.worker("a", { tasks: [task] });
        await world.reaches(second, "settled");
        const overtaken = await world.reaches(first, "settled");
        assert.deepEqual(events, oneByOne(2, 1));
        expectFacts(await world.record(alone), { status: "queued" });
        assert.ok(parseTime(overtaken.acquired_at as string) - enqueuedAt <= 2 * recoverAfterMs + 2 * leaseMs);

        const record = await world.reaches(alone, "settled");
        const afterMs = parseTime(record.acquired_at as string) - enqueuedAt;
        assert.ok(afterMs >= 3_600_000 && afterMs <= 3_600_000 + recoverAfterMs + 2 * leaseMs, `after ${afterMs} ms`);
      },
    },
    {
      name: "a stop gives the tail back unrun, in order",
      unless: unordered,
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, events } = noted(world, async (context) => {
          if (context.fence > 1 || context.input.n > 1) return;
          await context.renew(WAITING);
          await aborted(context.signal);
          throw context.signal.reason;
        });
        const ids = await enqueueInOrder(world, world.client(), task, 3);
        const worker = world.worker("a", { tasks: [task] });
        await world.reaches(ids[0] as string, ({ stage }) => stage === "external_call");
        await worker.stop();
        expectFacts(await world.record(ids[0] as string), { status: "released", attempt: 0 });
        for (const taskId of ids.slice(1)) expectFacts(await world.record(taskId), { status: "queued", fence: 0 });
        world.worker("b", { tasks: [task] });
        await world.reaches(ids[2] as string, "settled");
        assert.deepEqual(events, oneByOne(1, 1, 2, 3));
      },
    },
  ],
};
