import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createTimeline } from "../memory/fake-clock.ts";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { defineTask } from "../task/define-task.ts";
import type { Duration } from "../util/duration.ts";
import { createKeeper, type Kept } from "./keeper.ts";
import { resolveWorker } from "./options.ts";

function opened(lease: Duration) {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const { runtime } = resolveWorker({
    queue: createMemoryQueue({ name: "q", clock }),
    store: createTaskStore({ items: createMemoryItems() }),
    tasks: [defineTask({ type: "any", input: z.object({}), lease, run: () => undefined })],
    clock,
  });
  return { timeline, clock, keeper: createKeeper(runtime, () => undefined) };
}

/** Kept for ever; due again so long after each look. */
function kept(nextDue: () => number): Kept & { readonly looks: () => number } {
  let looks = 0;
  return {
    due: 0,
    place: -1,
    nextDue,
    look() {
      looks += 1;
    },
    looks: () => looks,
  };
}

for (const { lease, heardMs } of [
  { lease: "10m", heardMs: 1_000 },
  { lease: "6s", heardMs: 500 },
  { lease: "1s", heardMs: 250 },
] as const) {
  test(`a suspend is heard within ${heardMs} ms with a lease of ${lease}`, async () => {
    const { timeline, clock, keeper } = opened(lease);
    const item = kept(() => Number.MAX_SAFE_INTEGER);
    keeper.keep(item);
    await timeline.advance(100);
    clock.suspendMonotonic(3_600_000);
    await timeline.advance(3_600_000 + heardMs);
    assert.equal(item.looks(), 1);
    keeper.close();
  });
}

test("nothing is looked at before its time, however often the clocks are compared", async () => {
  const { timeline, clock, keeper } = opened("1m");
  const item = kept(() => clock.monotonic() + 60_000);
  keeper.keep(item);
  await timeline.advance(59_999);
  assert.equal(item.looks(), 0);
  await timeline.advance(1);
  assert.equal(item.looks(), 1);
  keeper.close();
});

test("a time that is no number neither hides the others nor becomes a hot loop", async () => {
  const { timeline, clock, keeper } = opened("1m");
  const odd = kept(() => Number.NaN);
  const good = kept(() => clock.monotonic() + 1_000);
  keeper.keep(odd);
  keeper.keep(good);
  await timeline.advance(10_500);
  assert.equal(good.looks(), 10);
  assert.equal(odd.looks(), 10);
  keeper.close();
  assert.equal(timeline.pendingTimers(), 0);
});
