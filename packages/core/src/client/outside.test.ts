import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTime } from "../clock.ts";
import { isLeaseholdError, LeaseholdError } from "../errors.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { EffectState } from "../record/record.ts";
import { noTelemetry } from "../telemetry/no-telemetry.ts";
import { createClient } from "./client.ts";
import type { ResumeOptions } from "./outside.ts";
import { eventOf, PUBLISH, receiptOf, setup } from "./setup.fixture.ts";

const INPUT = { title: "Hello" };
const DAY_MS = 86_400_000;
type Setup = ReturnType<typeof setup>;

/** A task whose message is gone, held by a worker. */
async function held({ client, hold, receive, queue }: Setup) {
  const { task } = await client.enqueue(PUBLISH, INPUT);
  await queue.settle((await receive()).map((delivery) => ({ verb: "complete" as const, delivery })));
  const { record, write } = await hold(task.task_id);
  return { taskId: task.task_id, record, write };
}

async function parked(context: Setup, effects: Readonly<Record<string, EffectState>> = {}) {
  const { taskId, write } = await held(context);
  await context.store.park({
    ...write(),
    endReason: "stuck: a person must look",
    state: { effects, open_effects: Object.keys(effects).length },
  });
  return taskId;
}

function openEffect(name: string, at: number): EffectState {
  const time = formatTime(at);
  return {
    key: `k:${name}`,
    guard: "none",
    state: "started",
    begun_at: time,
    first_begun_at: time,
    fence: 1,
    begins: 1,
    external_system: "mail",
  };
}

test("cancel ends a waiting task at once", async () => {
  const { client } = setup();
  const { task } = await client.enqueue(PUBLISH, INPUT);
  const outcome = await client.cancel(task, { reason: "not needed" });
  assert.equal(outcome.outcome, "cancelled");
  assert.deepEqual(await client.result(task), {
    outcome: "cancelled",
    reason: "cancelled: not needed",
    task: outcome.task,
  });
  assert.deepEqual(await client.cancel(task), {
    outcome: "refused",
    reason: "the task is cancelled, expected a waiting, leased or parked one",
    task: outcome.task,
  });
});

test("cancel of a held task is a request to its holder", async () => {
  const context = setup();
  const { taskId, write } = await held(context);
  const outcome = await context.client.cancel(taskId);
  assert.ok(outcome.outcome === "requested" && outcome.by === "holder");
  const seen = await context.store.renew({ ...write(), leaseMs: 60_000 });
  assert.ok(seen.outcome === "written" && seen.record.cancel_requested_at !== undefined);
  assert.deepEqual(await context.receive(), []);
});

test("cancel of a waiting task with an open effect rings, so that a worker reads it back soon", async () => {
  const context = setup();
  const { taskId, write } = await held(context);
  const at = context.clock.now();
  await context.store.release({
    ...write(),
    queue: "orders",
    notBefore: at + DAY_MS,
    recoverAfterMs: 300_000,
    state: { effects: { send: openEffect("send", at) }, open_effects: 1 },
  });
  const outcome = await context.client.cancel(taskId);
  assert.ok(outcome.outcome === "requested" && outcome.by === "next" && outcome.delivery === "sent");
  assert.equal(eventOf((await context.receive())[0]).id, taskId);
});

test("resume leaves park and rings under the new check", async () => {
  const context = setup();
  const taskId = await parked(context);
  const outcome = await context.client.resume(taskId, { decision: "retry", by: "ada", note: "system is back" });
  assert.ok(outcome.outcome === "resumed" && outcome.delivery === "sent");
  assert.equal(outcome.task.status, "queued");
  assert.deepEqual(outcome.task.resolution, {
    decision: "retry",
    by: "ada",
    note: "system is back",
    at: formatTime(context.clock.now()),
  });
  const [ring] = await context.receive();
  assert.equal(eventOf(ring).dataref, outcome.task.input_hash);
  const again = await context.client.resume(taskId, { decision: "retry", by: "ada" });
  assert.ok(again.outcome === "refused");
  assert.equal(again.reason, "the task is queued, expected a parked one");
});

test("a decision on one of two open effects must name it", async () => {
  const context = setup();
  const at = context.clock.now();
  const taskId = await parked(context, { send: openEffect("send", at), post: openEffect("post", at) });
  await assert.rejects(
    context.client.resume(taskId, { decision: "committed", by: "ada" }),
    (error) => isLeaseholdError(error, "InvalidArgument") && /^effect: .*(send, post|post, send)/.test(error.message),
  );
  const outcome = await context.client.resume(taskId, {
    decision: "committed",
    effect: "send",
    externalId: "77",
    by: "ada",
  });
  assert.equal(outcome.outcome, "resumed");
});

test("reopen starts an ended task anew, with a new deadline", async () => {
  const context = setup();
  const { taskId, write } = await held(context);
  await context.store.deadLetter({ ...write(), endReason: "permanent: no", retentionMs: DAY_MS });
  const deadline = new Date(context.clock.now() + DAY_MS);
  const outcome = await context.client.reopen(taskId, { deadline });
  assert.ok(outcome.outcome === "reopened" && outcome.delivery === "sent");
  assert.deepEqual(
    [outcome.task.status, outcome.task.attempt, outcome.task.deadline],
    ["queued", 0, deadline.toISOString()],
  );
  assert.equal(eventOf((await context.receive())[0]).id, taskId);
});

test("a settled task is final for every decision", async () => {
  const context = setup();
  const { taskId, record, write } = await held(context);
  await context.store.settle({ ...write(), fence: record.fence, receipt: receiptOf(record), retentionMs: DAY_MS });
  const { client } = context;
  for (const outcome of [
    await client.cancel(taskId),
    await client.reopen(taskId),
    await client.resume(taskId, { decision: "retry", by: "ada" }),
  ]) {
    assert.ok(outcome.outcome === "refused");
    assert.match(outcome.reason, /^the task is settled, expected a/);
  }
  assert.deepEqual(await context.receive(), []);
});

test("a ring that fails is left to recovery; one of another queue is not sent here", async () => {
  const broken = setup({
    queueFaults: ({ name, index }) =>
      name === "send" && index > 0 ? { error: new LeaseholdError("NotFound", "gone") } : undefined,
  });
  const resumed = await broken.client.resume(await parked(broken), { decision: "retry", by: "ada" });
  assert.ok(resumed.outcome === "resumed" && resumed.delivery === "left_to_recovery");
  assert.equal(resumed.sendError?.code, "NotFound");

  const context = setup();
  const taskId = await parked(context);
  const { clock, store } = context;
  context.broker.createQueue("invoices");
  const invoices = createMemoryQueue({ name: "invoices", broker: context.broker });
  const elsewhere = createClient({ queue: invoices, store, clock, telemetry: noTelemetry });
  const outcome = await elsewhere.resume(taskId, { decision: "retry", by: "ada" });
  assert.ok(
    outcome.outcome === "resumed" && outcome.delivery === "left_to_recovery" && outcome.sendError === undefined,
  );
  assert.deepEqual(await invoices.receive({ max: 1, waitMs: 0, leaseMs: 1_000 }), []);
  await assert.rejects(
    elsewhere.enqueue(PUBLISH, INPUT, { taskId }),
    (error) => isLeaseholdError(error, "Conflict") && /another queue/.test(error.message),
  );
});

test("what is not there is missing", async () => {
  const { client } = setup();
  assert.deepEqual(await client.cancel("nobody"), { outcome: "missing" });
  assert.deepEqual(await client.reopen("nobody"), { outcome: "missing" });
  assert.deepEqual(await client.resume("nobody", { decision: "retry", by: "ada" }), { outcome: "missing" });
  assert.equal(await client.get("nobody"), undefined);
});

test("bad decisions are refused by name, kind and expectation", async () => {
  const { client } = setup();
  const cases: readonly [unknown, RegExp][] = [
    [undefined, /^decision: got nothing, expected one of "retry", "commit-again", "committed"/],
    [{ decision: "again", by: "ada" }, /^decision: got text/],
    [{ decision: "retry" }, /^by: got nothing, expected text of 1 to 1024 bytes/],
    [{ decision: "retry", by: "" }, /^by: got empty text/],
    [{ decision: "retry", by: "ada", note: 5 }, /^note: got a number/],
    [{ decision: "retry", by: "ada", note: "x".repeat(1_025) }, /^note: got text/],
    [{ decision: "retry", by: "ada", deadline: "soon" }, /^deadline: got "soon"/],
  ];
  const refusedAs = (message: RegExp) => (error: unknown) =>
    isLeaseholdError(error, "InvalidArgument") && message.test(error.message);
  for (const [options, message] of cases)
    await assert.rejects(client.resume("task", options as ResumeOptions), refusedAs(message));
  await assert.rejects(client.cancel("task", { reason: "" }), refusedAs(/^reason: got empty text/));
  await assert.rejects(
    client.reopen("task", { deadline: 5 as unknown as string }),
    refusedAs(/^deadline: got a number/),
  );
  for (const task of ["", undefined, 5, {}])
    await assert.rejects(client.get(task as string), refusedAs(/^task: got .+, expected a task id/));
  await assert.rejects(client.listByRun(""), refusedAs(/^agentRunId: got empty text/));
});
