import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sleep } from "@leasehold/core/driver";
import type { ServicebusOptions } from "@leasehold/emulators";
import { enqueue, expectFacts, expectQueueEmpty, taskOf } from "../lifecycle/support.ts";
import { memoryItems } from "./lifecycle-items.ts";
import { playedLifecycleSource } from "./played-lifecycle.ts";
import { PAUSE_MS } from "./servicebus-embedded.ts";
import { servicebusQueues } from "./servicebus-lifecycle.ts";

/** A worker whose handler outlives what the service keeps for it: an idle link for ten minutes (SB-05), a token for an hour or less. */
const MINUTE_MS = 60_000;
const HANDLER_MS = 25 * MINUTE_MS;
const LINK_IDLE_MS = 10 * MINUTE_MS;
const TOKEN_MS = 12 * MINUTE_MS;

interface Ran {
  /** Calls that the server saw while the handler ran, by operation. */
  readonly during: Readonly<Record<string, number>>;
}

/** Runs one task for 25 minutes of broker time in a worker that has no other slot, so that nothing else keeps its link busy. */
async function runLong(context: TestContext, sessions: boolean, server: ServicebusOptions): Promise<Ran> {
  const during: Record<string, number> = {};
  let isRunning = false;
  const onCall: NonNullable<ServicebusOptions["onCall"]> = ({ operation }) => {
    if (isRunning) during[operation] = (during[operation] ?? 0) + 1;
  };
  const queues = servicebusQueues({ sessions, server: { ...server, onCall } });
  const harness = await playedLifecycleSource({ queues, items: memoryItems, pauseMs: PAUSE_MS }).open({});
  context.after(() => harness.close());
  const world = await harness.open();
  const task = taskOf(world, {
    async run(handler) {
      await handler.renew({ stage: "external_call", reason: "waiting for model batch result", budget: "30m" });
      isRunning = true;
      await sleep(worker.clock, HANDLER_MS, handler.signal);
      isRunning = false;
      return "done";
    },
  });
  const worker = world.worker("a", { tasks: [task], concurrency: 1 });
  const taskId = await enqueue(world, world.client(), task);
  const record = await world.reaches(taskId, "settled");
  expectFacts(record, { attempt: 1, attempts_total: 1, fence: 1, log: [["settled", "external_call"]] });
  assert.equal(worker.deliveries.length, 1, "one delivery");
  await expectQueueEmpty(world);
  assert.deepEqual(await world.broker.counts(), { visible: 0, leased: 0, delayed: 0, deadLetters: 0 });
  return { during };
}

test("a handler of 25 minutes outlives its link: one delivery", async (context) => {
  const { during } = await runLong(context, false, { linkIdleMs: LINK_IDLE_MS });
  assert.ok((during["RenewLock"] ?? 0) > HANDLER_MS / MINUTE_MS, `renewed ${during["RenewLock"]} times`);
});

test("a handler of 25 minutes outlives its token, again and again: one delivery", async (context) => {
  const { during } = await runLong(context, false, { linkIdleMs: LINK_IDLE_MS, tokenLifetimeMs: TOKEN_MS });
  assert.ok((during["PutToken"] ?? 0) >= 2, `${during["PutToken"]} tokens`);
});

test("a handler of 25 minutes keeps its session: one delivery", async (context) => {
  const { during } = await runLong(context, true, { linkIdleMs: Number.POSITIVE_INFINITY });
  assert.ok((during["RenewSessionLock"] ?? 0) > HANDLER_MS / MINUTE_MS, `renewed ${during["RenewSessionLock"]} times`);
});
