import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createClient } from "../client/client.ts";
import { LeaseholdError } from "../errors.ts";
import { createTimeline } from "../memory/fake-clock.ts";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { Outcome, QueueDriver, SettleItem } from "../queue/driver.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { defineTask } from "../task/define-task.ts";
import { createWorker } from "./create-worker.ts";

type Settle = QueueDriver["settle"];

/** Runs one task on a driver that settles in its own way, for a minute and until the worker has stopped. */
async function settleBy(
  answer: (items: readonly SettleItem[], call: number, settle: Settle) => ReturnType<Settle>,
  run: () => unknown = () => "done",
): Promise<{ readonly verbs: readonly string[]; readonly visible: number; readonly stoppedInMs: number }> {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const queue = createMemoryQueue({ name: "q", clock });
  const store = createTaskStore({ items: createMemoryItems() });
  const task = defineTask({ type: "any", input: z.object({}), run });
  await timeline.until(createClient({ queue, store, clock }).enqueue(task, {}));
  const verbs: string[] = [];
  const settle: Settle = (items) => {
    verbs.push(...items.map(({ verb }) => verb));
    return answer(items, verbs.length, queue.settle);
  };
  const stop = new AbortController();
  const running = createWorker({ queue: { ...queue, settle }, store, tasks: [task], clock }).run({
    signal: stop.signal,
  });
  await timeline.advance(10_000);
  stop.abort();
  const stoppedAt = clock.monotonic();
  await timeline.until(running);
  const stoppedInMs = clock.monotonic() - stoppedAt;
  await timeline.advance(600_000);
  return { verbs, visible: (await queue.countVisible?.()) ?? 0, stoppedInMs };
}

const LOST: Outcome = { status: "unconfirmed", error: new LeaseholdError("DeadlineExceeded", "no answer") };

test("a complete whose answer was lost is made again", async () => {
  const { verbs, visible } = await settleBy(async (items, call, settle) => (call < 3 ? [LOST] : settle(items)));
  assert.deepEqual(verbs, ["complete", "complete", "complete"]);
  assert.equal(visible, 0);
});

test("a complete whose answer is lost each time is made four times", async () => {
  const { verbs } = await settleBy(async () => [LOST]);
  assert.deepEqual(verbs, ["complete", "complete", "complete", "complete"]);
});

test("a complete that no broker confirms is made once", async () => {
  const { verbs } = await settleBy(async (items, _, settle) => {
    await settle(items);
    return [{ status: "unconfirmed" }];
  });
  assert.deepEqual(verbs, ["complete"]);
});

test("an abandon whose answer was lost is made once: somebody else may hold the message", async () => {
  let runs = 0;
  const { verbs } = await settleBy(
    async () => [LOST],
    () => {
      runs += 1;
      throw new Error("boom");
    },
  );
  assert.equal(runs, 1);
  assert.deepEqual(verbs, ["abandon"]);
});

test("a driver that breaks its contract holds up no stop", async () => {
  for (const broken of [undefined, [], [{ status: "failed" }], [{ status: "applied" }]]) {
    const { verbs, stoppedInMs } = await settleBy(async () => broken as readonly Outcome[]);
    assert.deepEqual(verbs, ["complete"], JSON.stringify(broken));
    assert.ok(stoppedInMs < 2_000, `${JSON.stringify(broken)}: ${stoppedInMs} ms`);
  }
});

test("a driver that throws before its settle has begun is asked again", async () => {
  const { verbs, visible } = await settleBy((items, call, settle) => {
    if (call === 1) throw new LeaseholdError("Unavailable", "not connected");
    return settle(items);
  });
  assert.deepEqual(verbs, ["complete", "complete"]);
  assert.equal(visible, 0);
});
