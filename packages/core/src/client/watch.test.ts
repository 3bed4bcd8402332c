import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTime } from "../clock.ts";
import { isLeaseholdError } from "../errors.ts";
import type { Claim } from "../record/record.ts";
import { PUBLISH, receiptOf, setup } from "./setup.fixture.ts";
import type { TaskUpdate } from "./watch.ts";

const INPUT = { title: "Hello" };
const RETENTION_MS = 86_400_000;
type Setup = ReturnType<typeof setup>;

/** A task in a worker's hands that claims and ends. */
async function running(context: Setup) {
  const { task } = await context.client.enqueue(PUBLISH, INPUT);
  const { record, write } = await context.hold(task.task_id);
  let claims: Claim[] = [];
  let count = 0;
  return {
    taskId: task.task_id,
    async claim(...reasons: readonly string[]): Promise<void> {
      const at = formatTime(context.clock.now());
      claims = [...claims, ...reasons.map((reason) => ({ stage: "external_call" as const, reason, at }))].slice(-3);
      count += reasons.length;
      await context.store.renew({ ...write(), leaseMs: 60_000, state: { last_claims: claims, claim_count: count } });
    },
    async settle(result?: string): Promise<void> {
      await context.store.settle({
        ...write(),
        fence: record.fence,
        receipt: receiptOf(record),
        retentionMs: RETENTION_MS,
        ...(result === undefined ? {} : { result }),
      });
    },
    async park(): Promise<void> {
      await context.store.park({ ...write(), endReason: "stuck: look" });
    },
  };
}

function told(update: TaskUpdate): string {
  return update.kind === "end" ? update.end.outcome : `${update.skipped} ${update.claim.reason}`;
}

/** Collects what a watch tells, while time is moved. */
function collect(updates: AsyncIterable<TaskUpdate>) {
  const all: string[] = [];
  const done = (async () => {
    for await (const update of updates) all.push(told(update));
  })();
  return { all, done };
}

test("watch tells claims, how many it missed, and the end", async () => {
  const context = setup();
  const task = await running(context);
  await task.claim("a", "b", "c", "d", "e");
  const watching = collect(context.client.watch(task.taskId));
  await context.timeline.settle();
  assert.deepEqual(watching.all, ["2 c", "0 d", "0 e"]);
  await context.timeline.advance(500);
  assert.equal(watching.all.length, 3);
  await task.claim("f");
  await context.timeline.advance(1_000);
  assert.deepEqual(watching.all.slice(3), ["0 f"]);
  await task.claim("g", "h", "i", "j");
  await task.settle();
  await context.timeline.until(watching.done);
  assert.deepEqual(watching.all.slice(4), ["1 h", "0 i", "0 j", "settled"]);
  assert.equal(context.timeline.pendingTimers(), 0);
});

test("watch looks every half second, then less often, until something moves", async () => {
  const looks: number[] = [];
  const context: Setup = setup({
    storeFaults: ({ name }) => {
      if (name === "get") looks.push(context.clock.monotonic());
      return undefined;
    },
  });
  const task = await running(context);
  const watching = collect(context.client.watch(task.taskId));
  await context.timeline.advance(30_000);
  const waits = () => looks.slice(1).map((at, index) => at - (looks[index] as number));
  assert.deepEqual(waits(), [500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000]);
  await task.claim("moved");
  await context.timeline.advance(10_000);
  assert.deepEqual(waits().slice(8), [5_000, 500, 1_000, 2_000, 4_000]);
  await task.settle();
  await context.timeline.until(watching.done);
});

test("a reader that leaves, or whose signal aborts, leaves no timer behind", async () => {
  const context = setup();
  const task = await running(context);
  await task.claim("a");
  for await (const update of context.client.watch(task.taskId)) {
    assert.equal(told(update), "0 a");
    break;
  }
  assert.equal(context.timeline.pendingTimers(), 0);
  const controller = new AbortController();
  const watching = collect(context.client.watch(task.taskId, { signal: controller.signal }));
  const waiting = context.client.result(task.taskId, { signal: controller.signal });
  await context.timeline.settle();
  const reason = new Error("enough");
  controller.abort(reason);
  await assert.rejects(watching.done, reason);
  await assert.rejects(waiting, reason);
  assert.equal(context.timeline.pendingTimers(), 0);
  await assert.rejects(context.client.result(task.taskId, { signal: AbortSignal.abort(reason) }), reason);
});

test("result: what the handler returned, small, large, or nothing, and the receipt", async () => {
  for (const text of [undefined, "null", '{"posts":[1,2]}', JSON.stringify("x".repeat(100_000))]) {
    const context = setup();
    const task = await running(context);
    const waiting = context.client.result(task.taskId);
    await context.timeline.advance(3_000);
    await task.settle(text);
    const end = await context.timeline.until(waiting);
    assert.ok(end.outcome === "settled");
    assert.deepEqual(end.result, text === undefined ? undefined : JSON.parse(text));
    assert.equal(end.receipt.task_id, task.taskId);
    assert.equal(end.task.status, "settled");
  }
});

test("result: parked comes with the reason, and may go on later", async () => {
  const context = setup();
  const task = await running(context);
  await task.park();
  const end = await context.client.result(task.taskId);
  assert.ok(end.outcome === "parked" && end.reason === "stuck: look");
});

test("result: a timeout ends at its time, with a last look, and is no error", async () => {
  const context = setup();
  const task = await running(context);
  const before = context.clock.monotonic();
  const end = await context.timeline.until(context.client.result(task.taskId, { timeout: "7s" }));
  assert.equal(end.outcome, "timeout");
  assert.equal(context.clock.monotonic() - before, 7_000);
  const now = await context.client.result(task.taskId, { timeout: 0 });
  assert.equal(now.outcome, "timeout");
  const last = context.client.result(task.taskId, { timeout: "9s" });
  await context.timeline.advance(8_900);
  await task.settle();
  assert.equal((await context.timeline.until(last)).outcome, "settled");
  await assert.rejects(
    context.client.result(task.taskId, { timeout: -1 }),
    (error) => isLeaseholdError(error, "InvalidArgument") && error.message.startsWith("timeout: "),
  );
});

test("a task that is not there is an error for those who wait for it", async () => {
  const { client } = setup();
  const missing = (error: unknown) =>
    isLeaseholdError(error, "NotFound") && /^task nobody: no record/.test(error.message);
  await assert.rejects(client.result("nobody"), missing);
  await assert.rejects(collect(client.watch("nobody")).done, missing);
});

test("a store that stumbles is asked again; one that stays down is an error", async () => {
  let down = 0;
  const context = setup({ storeFaults: ({ name }) => (name === "get" && down-- > 0 ? { drop: "before" } : undefined) });
  const task = await running(context);
  await task.settle("1");
  down = 3;
  assert.equal((await context.timeline.until(context.client.result(task.taskId))).outcome, "settled");
  down = 1_000;
  await assert.rejects(context.timeline.until(context.client.result(task.taskId)), (error) =>
    isLeaseholdError(error, "Unavailable"),
  );
});

test("tasks of one run, page by page", async () => {
  const context = setup();
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) {
    ids.push((await context.client.enqueue(PUBLISH, INPUT, { agentRunId: "run-1" })).task.task_id);
    await context.timeline.advance(10);
  }
  const first = await context.client.listByRun("run-1", { limit: 3 });
  assert.ok(first.cursor !== undefined);
  const second = await context.client.listByRun("run-1", { limit: 3, cursor: first.cursor });
  assert.deepEqual(
    [...first.items, ...second.items].map((task) => task.task_id),
    ids,
  );
});

test("a misspelt option of result is refused: without its limit it would wait for ever", async () => {
  const { client } = setup();
  const { task } = await client.enqueue(PUBLISH, { title: "Hello" });
  await assert.rejects(client.result(task, { timout: "1m" } as never), { code: "InvalidArgument" });
});
