import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedClient, World } from "./harness.ts";
import {
  abandonDelays,
  aborted,
  type Context,
  enqueue,
  expectFacts,
  expectQueueEmpty,
  type TestTask,
  taskOf,
  unlessAble,
} from "./support.ts";

const ORDERING_KEY = "cart-7";
const ORDER_HOLD_MS = 30_000;

/** Enqueues this many tasks of one ordering key, and answers their ids in order. */
async function enqueueLine(
  world: World,
  client: PlayedClient,
  task: TestTask,
  count: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) {
    ids.push(await enqueue(world, client, task, { key: String(n), orderingKey: ORDERING_KEY }));
    // So that the times of sending tell which is later.
    await world.wait(10);
  }
  return ids;
}

/** A task type that notes the runs of its tasks, one after the other or not. */
function noted(
  world: World,
  run: (context: Context) => unknown,
): { readonly task: TestTask; readonly starts: string[]; readonly mostAtOnce: () => number } {
  const starts: string[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const task = taskOf(world, {
    async run(context) {
      starts.push(context.id);
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      try {
        return await run(context);
      } finally {
        atOnce -= 1;
      }
    },
  });
  return { task, starts, mostAtOnce: () => mostAtOnce };
}

/** The deliveries of one ordering key that one worker has at the same time. */
export const lanes: Suite<LifecycleHarness> = {
  subject: "lines of an ordering key",
  cases: [
    ...([1, 3] as const).map((count) => ({
      name: `${count === 1 ? "the head comes" : "head and tail come"} again to the worker that has them: the head is aborted at once, and the order is kept`,
      unless: unlessAble("ordering", "expire"),
      needs: ["time", "faults"] as const,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const heard: (readonly [reason: string, at: number])[] = [];
        const { task, starts, mostAtOnce } = noted(world, async (context) => {
          if (context.fence > 1 || heard.length > 0) return;
          await context.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "3h" });
          heard.push([await aborted(context.signal), world.now()]);
          throw context.signal.reason;
        });
        const ids = await enqueueLine(world, world.client(), task, count);
        world.worker("a", { tasks: [task] });
        await world.reaches(ids[0] as string, ({ stage }) => stage === "external_call");
        const expiredAt = world.now();
        await world.broker.act("expire");
        for (const taskId of ids) {
          const attempts = taskId === ids[0] ? 2 : 1;
          expectFacts(await world.reaches(taskId, "settled"), { attempts_total: attempts });
        }
        assert.deepEqual(
          heard.map(([reason]) => reason),
          ["taken_over"],
        );
        // Long before the worker had asked for a longer lease.
        const afterMs = (heard[0]?.[1] ?? 0) - expiredAt;
        assert.ok(afterMs <= world.timing.leaseMs / 4, `heard after ${afterMs} ms`);
        assert.deepEqual(starts, [ids[0], ...ids]);
        assert.equal(mostAtOnce(), 1);
        await expectQueueEmpty(world);
      },
    })),
    {
      name: "the head is lost while it is being acquired: its handler does not start, and nothing overtakes it",
      unless: unlessAble("ordering", "expire"),
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task, starts, mostAtOnce } = noted(world, () => undefined);
        const ids = await enqueueLine(world, world.client(), task, 2);
        const faults = [{ on: "store.acquire", fault: { answerDelayMs: 3_000 } }];
        const worker = world.worker("a", { tasks: [task], faults });
        await world.until(() => worker.calls.some(({ name }) => name === "store.acquire"));
        await world.broker.act("expire");
        expectFacts(await world.reaches(ids[1] as string, "settled"), { attempts_total: 1 });
        expectFacts(await world.record(ids[0] as string), { status: "settled", attempts_total: 2 });
        assert.deepEqual(starts, ids);
        assert.equal(mostAtOnce(), 1);
        await expectQueueEmpty(world);
      },
    },
    ...(["held elsewhere", "of a type that the worker does not know"] as const).map((what) => ({
      name: `a task with a key, ${what}: its message is put away for orderHold at the most`,
      unless: unlessAble("ordering", "delay an abandon"),
      needs: ["time", "faults"] as const,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { leaseMs, maxClockSkewMs } = world.timing;
        const { task } = noted(world, () => undefined);
        const other = taskOf(world, { type: "another_type", run: () => undefined });
        const [taskId = ""] = await enqueueLine(world, world.client(), task, 1);
        if (what === "held elsewhere") {
          const lease = { owner: "elsewhere", token: "elsewhere", leaseMs: 3 * leaseMs, maxClockSkewMs };
          assert.equal((await world.store.acquire({ taskId, at: world.now(), ...lease })).outcome, "acquired");
        }
        const tasks = [what === "held elsewhere" ? task : other];
        const worker = world.worker("a", { tasks, recovery: false, orderHold: ORDER_HOLD_MS });
        await world.until(() => abandonDelays(worker).length >= 2);
        assert.deepEqual(abandonDelays(worker).slice(0, 2), [ORDER_HOLD_MS, ORDER_HOLD_MS]);
        await worker.stop();
        world.worker("b", { tasks: [task] });
        await world.reaches(taskId, "settled");
      },
    })),
  ],
};
