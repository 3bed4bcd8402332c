import assert from "node:assert/strict";
import { deriveTaskId, EVENT_CONTENT_TYPE, foreignTaskId, formatTime, ownSource } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { LifecycleHarness } from "./harness.ts";
import { counted, deadLetterCodes, enqueue, expectFacts, expectQueueEmpty, sendEvent } from "./support.ts";

const DAY_MS = 86_400_000;

interface Unreadable {
  readonly what: string;
  readonly code: string;
  readonly message: (type: string) => { readonly body: string; readonly contentType?: string };
}

const event = (type: string, more: object): { readonly body: string } => ({
  body: JSON.stringify({ specversion: "1.0", id: "odd", source: "shop", type, ...more }),
});
const UNREADABLE: readonly Unreadable[] = [
  { what: "a body that is no JSON", code: "malformed_event", message: () => ({ body: "no event" }) },
  { what: "JSON that is no event", code: "malformed_event", message: () => ({ body: '{"hello":"world"}' }) },
  { what: "data in base64", code: "unsupported_content", message: (type) => event(type, { data_base64: "eA==" }) },
  {
    what: "data that is no JSON",
    code: "unsupported_content",
    message: (type) => event(type, { datacontenttype: "text/xml", data: "<a/>" }),
  },
  {
    what: "a foreign event above 380 KB",
    code: "payload_too_large",
    message: (type) => event(type, { data: { n: 1, text: "x".repeat(400_000) } }),
  },
];

/** The table of what is done with a delivery: messages that are there without a record. */
export const noRecord: Suite<LifecycleHarness> = {
  subject: "a delivery without a record",
  cases: [
    {
      name: "no record, event young: made from the event and run, attempt 1",
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world, (context) => context.input.n);
        const taskId = deriveTaskId(world.queue.queue, task.type, "one");
        await sendEvent(world, {
          id: taskId,
          source: ownSource(world.queue.queue),
          type: task.type,
          data: { n: 7 },
          agentrunid: "run-1",
          time: formatTime(world.now()),
        });
        world.worker("a", { tasks: [task] });
        await world.until(async () => (await world.store.get(taskId))?.status === "settled");
        const record = await world.record(taskId);
        expectFacts(record, { status: "settled", attempt: 1, attempts_total: 1, fence: 1 });
        assert.equal(record.result, "7");
        assert.equal(record.agent_run_id, "run-1");
        assert.equal(await world.store.payload(taskId, record.payload_ref), '{"n":7}');
        await expectQueueEmpty(world);
      },
    },
    {
      name: "no record, foreign event: keyed by queue, source and id",
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        world.worker("a", { tasks: [task] });
        const taskId = foreignTaskId(world.queue.queue, "shop/orders", "order-7");
        const event = {
          id: "order-7",
          source: "shop/orders",
          type: task.type,
          data: { n: 1 },
          time: formatTime(world.now()),
        };
        await sendEvent(world, event);
        await world.until(async () => (await world.store.get(taskId))?.status === "settled");
        await sendEvent(world, event);
        await expectQueueEmpty(world);
        assert.equal(runs(), 1);
      },
    },
    {
      name: "no record, and the event names a stored payload: dead-lettered as record_missing",
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        world.worker("a", { tasks: [task] });
        await sendEvent(world, {
          id: "gone",
          source: ownSource(world.queue.queue),
          type: task.type,
          dataref: "0".repeat(64),
          time: formatTime(world.now()),
        });
        await expectQueueEmpty(world);
        assert.deepEqual(await deadLetterCodes(world), ["record_missing"]);
        assert.equal(await world.store.get("gone"), undefined);
        assert.equal(runs(), 0);
      },
    },
    {
      name: "no record, event older than records are kept: not run, dead-lettered as record_expired",
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        world.worker("a", { tasks: [task] });
        const event = { source: ownSource(world.queue.queue), type: task.type, data: { n: 1 } };
        await sendEvent(world, { ...event, id: "old", time: formatTime(world.now() - 44 * DAY_MS) });
        await sendEvent(world, { ...event, id: "young", time: formatTime(world.now() - 42 * DAY_MS) });
        await world.until(async () => (await world.store.get("young"))?.status === "settled");
        await expectQueueEmpty(world);
        assert.deepEqual(await deadLetterCodes(world), ["record_expired"]);
        assert.equal(await world.store.get("old"), undefined);
        assert.equal(runs(), 1);
      },
    },
    ...UNREADABLE.map(({ what, code, message }) => ({
      name: `${what}: dead-lettered as ${code}, and the loop goes on`,
      async run(harness: LifecycleHarness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const { body, contentType = EVENT_CONTENT_TYPE } = message(task.type);
        const [outcome] = await world.until(world.queue.send([{ id: "odd", body, contentType }]));
        assert.equal(outcome?.status, "confirmed");
        world.worker("a", { tasks: [task] });
        await world.reaches(await enqueue(world, world.client(), task), "settled");
        await expectQueueEmpty(world);
        assert.deepEqual(await deadLetterCodes(world), [code]);
        assert.equal(runs(), 1);
      },
    })),
  ],
};
