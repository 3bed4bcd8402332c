import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { countsOf, enqueue, expectFacts, expectQueueEmpty, SETTLED, taskOf } from "./support.ts";

export const running: Suite<LifecycleHarness> = {
  subject: "a task from enqueue to settled",
  cases: [
    {
      name: "enqueue is two writes and one send, a short task two writes and no read",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const task = taskOf(world, { run: () => ({ done: true }) });
        const client = world.client();
        const taskId = await enqueue(world, client, task);
        assert.deepEqual(countsOf(client), { "store.create put": 2, "queue.send": 1 });
        const worker = world.worker("a", { tasks: [task], recovery: false });
        const record = await world.reaches(taskId, "settled");
        await expectQueueEmpty(world);
        assert.deepEqual(countsOf(worker), {
          "store.acquire update": 1,
          "store.settle update": 1,
          "queue.complete": 1,
        });
        expectFacts(record, {
          status: "settled",
          stage: "settled",
          attempt: 1,
          attempts_total: 1,
          fence: 1,
          effects: {},
          open: 0,
          code: undefined,
        });
        assert.equal(record.settlement_receipt?.external_system, "none");
        assert.equal(record.settlement_receipt?.status, "recorded");
        assert.equal(record.result, '{"done":true}');
        assert.equal(record.check_at, undefined);
        assert.notEqual(record.expire_at, undefined);
      },
    },
    {
      name: "an effect is two more writes",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("idempotent");
        const task = taskOf(world, { effects: [publish], run: (task) => task.effect(publish, { html: "x" }) });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], recovery: false });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1 });
        await expectQueueEmpty(world);
        assert.deepEqual(countsOf(worker), {
          "store.acquire update": 1,
          "store.beginEffect update": 1,
          "store.recordReceipt update": 1,
          "store.settle update": 1,
          "queue.complete": 1,
        });
        assert.deepEqual(world.system.calls, ["commit", "find"]);
      },
    },
    {
      name: "an effect with guard none is three more writes",
      needs: ["faults"],
      async run(harness) {
        const world = await harness.open();
        const publish = world.system.effect("searchable");
        const task = taskOf(world, { effects: [publish], run: (task) => task.effect(publish, { html: "x" }) });
        const taskId = await enqueue(world, world.client(), task);
        const worker = world.worker("a", { tasks: [task], recovery: false });
        expectFacts(await world.reaches(taskId, "settled"), { ...SETTLED, attempt: 1 });
        await expectQueueEmpty(world);
        assert.deepEqual(countsOf(worker), {
          "store.acquire update": 1,
          "store.beginEffect update": 1,
          "store.recordCommitted update": 1,
          "store.recordReceipt update": 1,
          "store.settle update": 1,
          "queue.complete": 1,
        });
      },
    },
  ],
};
