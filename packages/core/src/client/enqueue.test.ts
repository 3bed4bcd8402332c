import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { formatTime } from "../clock.ts";
import { MAX_INPUT_BYTES } from "../envelope/envelope.ts";
import { deriveTaskId } from "../envelope/ids.ts";
import { isLeaseholdError, LeaseholdError } from "../errors.ts";
import { noTelemetry } from "../telemetry/no-telemetry.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { EnqueueOptions } from "./enqueue.ts";
import { eventOf, PUBLISH, setup } from "./setup.fixture.ts";

const INPUT = { title: "Hello" };

async function refusedWith(code: string, message: RegExp, call: () => Promise<unknown>): Promise<LeaseholdError> {
  let refusal: LeaseholdError | undefined;
  await assert.rejects(call, (error) => {
    assert.ok(isLeaseholdError(error), String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    refusal = error;
    return true;
  });
  return refusal as LeaseholdError;
}

test("a new task is in the store, and its message in the queue", async () => {
  const { client, clock, receive, store } = setup();
  const outcome = await client.enqueue(PUBLISH, INPUT, {
    key: "daily",
    agentRunId: "run-1",
    deadline: new Date(clock.now() + 60_000),
  });
  assert.equal(outcome.outcome, "created");
  assert.ok(outcome.outcome === "created" && outcome.delivery === "sent");
  const { task } = outcome;
  assert.equal(task.task_id, deriveTaskId("orders", "publish_post", "daily"));
  assert.deepEqual(await store.get(task.task_id), task);
  assert.equal(await store.payload(task.task_id, task.payload_ref), '{"title":"Hello"}');
  assert.equal(task.idempotency_key, task.task_id);
  assert.equal(task.deadline, formatTime(clock.now() + 60_000));
  const [delivery, ...others] = await receive();
  assert.equal(others.length, 0);
  const event = eventOf(delivery);
  assert.equal(event.id, task.task_id);
  assert.deepEqual(event.data, INPUT);
  assert.equal(event.agentrunid, "run-1");
});

test("the producer's trace goes into record and message", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const telemetry: Telemetry = {
    ...noTelemetry,
    send: (_event, call) => call({ traceparent, tracestate: "vendor=1" }),
  };
  const { client, receive } = setup({ client: { telemetry } });
  const { task } = await client.enqueue(PUBLISH, INPUT);
  assert.deepEqual([task.traceparent, task.trace_id], [traceparent, "0af7651916cd43dd8448eb211c80319c"]);
  const event = eventOf((await receive())[0]);
  assert.deepEqual([event.traceparent, event.tracestate], [traceparent, "vendor=1"]);
});

test("the same key is the same task, and another queue, type or input under it a conflict", async () => {
  const { client, hold, receive } = setup();
  const first = await client.enqueue(PUBLISH, INPUT, { key: "daily" });
  await receive();
  await hold(first.task.task_id);
  const again = await client.enqueue(PUBLISH, { ...INPUT }, { key: "daily", deadline: "2030-01-01T00:00:00Z" });
  assert.equal(again.outcome, "existing");
  assert.equal(again.task.task_id, first.task.task_id);
  assert.equal(again.task.deadline, undefined);
  assert.deepEqual(await receive(), []);
  const { task_id: taskId } = first.task;
  const conflict = await refusedWith("Conflict", /another input.+choose another key/, () =>
    client.enqueue(PUBLISH, { title: "Bye" }, { key: "daily" }),
  );
  assert.deepEqual(conflict.details, { taskId, differs: "input" });
  await refusedWith("Conflict", /another type/, () =>
    client.enqueue({ ...PUBLISH, type: "send_mail" }, INPUT, { taskId }),
  );
  const other = await client.enqueue({ ...PUBLISH, type: "send_mail" }, INPUT, { key: "daily" });
  assert.equal(other.outcome, "created");
});

test("without a key each call is a task of its own", async () => {
  const { client } = setup();
  const first = await client.enqueue(PUBLISH, INPUT);
  const second = await client.enqueue(PUBLISH, INPUT);
  assert.deepEqual([first.outcome, second.outcome], ["created", "created"]);
  assert.notEqual(first.task.task_id, second.task.task_id);
});

test("a task that was never delivered is rung once by many callers", async () => {
  const { client, clock, receive, timeline } = setup();
  const first = await client.enqueue(PUBLISH, INPUT, { key: "daily" });
  await receive();
  await timeline.advance(1_000);
  const again = await Promise.all([1, 2, 3, 4].map(() => client.enqueue(PUBLISH, INPUT, { key: "daily" })));
  assert.deepEqual(again.map(({ outcome }) => outcome).sort(), ["existing", "existing", "existing", "rung_again"]);
  const [ring, ...others] = await receive();
  assert.equal(others.length, 0);
  assert.equal(eventOf(ring).id, first.task.task_id);
  assert.equal(eventOf(ring).dataref, first.task.input_hash);
  const rung = again.find(({ outcome }) => outcome === "rung_again");
  assert.equal(rung?.task.sent_at, formatTime(clock.now()));
});

test("a task that is not yet due is not rung, and neither is one that has ended", async () => {
  const { client, clock, receive } = setup();
  const notBefore = formatTime(clock.now() + 3_600_000);
  await client.enqueue(PUBLISH, INPUT, { key: "later", notBefore });
  assert.equal((await client.enqueue(PUBLISH, INPUT, { key: "later", notBefore })).outcome, "existing");
  const { task } = await client.enqueue(PUBLISH, INPUT, { key: "ended" });
  await client.cancel(task);
  assert.equal((await client.enqueue(PUBLISH, INPUT, { key: "ended" })).outcome, "existing");
  assert.equal((await receive()).length, 1);
});

test("a delay goes to the broker as far as it holds one, and to recovery beyond", async () => {
  const { client, clock, receive, timeline } = setup({ settings: { maxSendDelayMs: 900_000 } });
  const held = await client.enqueue(PUBLISH, INPUT, { notBefore: new Date(clock.now() + 900_000) });
  assert.ok(held.outcome === "created" && held.delivery === "sent");
  const left = await client.enqueue(PUBLISH, INPUT, { notBefore: new Date(clock.now() + 900_001) });
  assert.ok(left.outcome === "created");
  assert.deepEqual(
    [left.delivery, left.task.check_at],
    ["left_to_recovery", formatTime(clock.now() + 900_001 + 300_000)],
  );
  const past = await client.enqueue(PUBLISH, INPUT, { notBefore: new Date(clock.now() - 5_000) });
  assert.ok(past.outcome === "created" && past.delivery === "sent");
  assert.deepEqual(
    (await receive()).map((delivery) => eventOf(delivery).id),
    [past.task.task_id],
  );
  await timeline.advance(899_999);
  assert.deepEqual(
    await receive().then((deliveries) => deliveries.filter((delivery) => eventOf(delivery).id === held.task.task_id)),
    [],
  );
  await timeline.advance(1);
  assert.ok((await receive()).some((delivery) => eventOf(delivery).id === held.task.task_id));
});

test("a send that fails for good is reported, not thrown: the task is safe", async () => {
  const error = new LeaseholdError("PermissionDenied", "no");
  const { client, receive, store } = setup({ queueFaults: ({ name }) => (name === "send" ? { error } : undefined) });
  const outcome = await client.enqueue(PUBLISH, INPUT);
  assert.ok(outcome.outcome === "created" && outcome.delivery === "left_to_recovery");
  assert.equal(outcome.sendError, error);
  assert.equal((await store.get(outcome.task.task_id))?.status, "queued");
  assert.deepEqual(await receive(), []);
});

test("transient failures are met again for a bounded time", async () => {
  const { client, receive, timeline } = setup({
    queueFaults: ({ name, index }) => (name === "send" && index < 2 ? { drop: "before" } : undefined),
    storeFaults: ({ name, index }) =>
      name === "create" && index < 3 ? { drop: index === 1 ? "after" : "before" } : undefined,
  });
  const outcome = await timeline.until(client.enqueue(PUBLISH, INPUT, { key: "daily" }));
  assert.ok(outcome.outcome === "created" && outcome.delivery === "sent");
  assert.equal((await receive()).length, 1);

  const down = setup({ storeFaults: () => ({ drop: "before" }) });
  const before = down.clock.monotonic();
  await refusedWith("Unavailable", /./, () => down.timeline.until(down.client.enqueue(PUBLISH, INPUT)));
  const tookMs = down.clock.monotonic() - before;
  assert.ok(tookMs > 5_000 && tookMs <= 10_000, String(tookMs));
  assert.deepEqual(await down.receive(), []);
});

test("a store that never answers ends in an error", async () => {
  const { client, timeline } = setup({ storeFaults: () => ({ hang: "before" }) });
  await refusedWith("DeadlineExceeded", /create: no answer within/, () =>
    timeline.until(client.enqueue(PUBLISH, INPUT)),
  );
});

test("the input is judged as the worker will see it", async () => {
  const { client } = setup();
  await refusedWith("InvalidArgument", /^input\.title: expected text, got a number; correct the input/, () =>
    client.enqueue(PUBLISH, { title: 5 } as unknown as { title: string }),
  );
  await refusedWith("InvalidArgument", /^input\.title: got number|^input\.title: got NaN/, () =>
    client.enqueue(PUBLISH, { title: Number.NaN } as unknown as { title: string }),
  );
  await refusedWith("InvalidArgument", /^input: got undefined/, () =>
    client.enqueue(PUBLISH, undefined as unknown as { title: string }),
  );
  const dated = { type: "dated", input: z.object({ when: z.date() }) };
  await refusedWith("InvalidArgument", /^input\.when: expected date, got text/, () =>
    client.enqueue(dated, { when: new Date(0) }),
  );
  const coerced = { type: "coerced", input: z.object({ when: z.coerce.date(), count: z.number().default(1) }) };
  assert.equal((await client.enqueue(coerced, { when: new Date(0) })).outcome, "created");
  const slow = { type: "slow", input: z.string().refine(async (text) => text === "yes", "expected yes") };
  assert.equal((await client.enqueue(slow, "yes")).outcome, "created");
  await refusedWith("InvalidArgument", /^input: expected yes/, () => client.enqueue(slow, "no"));
});

test("380 KB are taken, to the byte; beyond it a payload store is needed", async () => {
  const text = { type: "text", input: z.string() };
  const exact = "x".repeat(MAX_INPUT_BYTES - 2);
  const { client, receive, store } = setup();
  const outcome = await client.enqueue(text, exact);
  assert.equal((await store.payload(outcome.task.task_id, outcome.task.payload_ref))?.length, MAX_INPUT_BYTES);
  assert.equal(eventOf((await receive())[0]).dataref, outcome.task.input_hash);
  const error = await refusedWith("PayloadTooLarge", /payloadStore/, () => client.enqueue(text, `${exact}x`));
  assert.deepEqual(error.details, { limitBytes: MAX_INPUT_BYTES, sizeBytes: MAX_INPUT_BYTES + 1 });
});

test("bad options are refused by name, kind and expectation, and nothing is written", async () => {
  const { client, store } = setup();
  const cases: readonly [unknown, string, RegExp][] = [
    [{ key: "" }, "InvalidArgument", /^key: got empty text, expected text with at least one character/],
    [{ key: 5 }, "InvalidArgument", /^key: got a number/],
    [{ taskId: "a b" }, "InvalidArgument", /^taskId: got text, expected 1 to 64/],
    [{ taskId: "" }, "InvalidArgument", /^taskId: got empty text/],
    [{ taskId: "a", key: "b" }, "InvalidArgument", /^key: got text, expected nothing beside a taskId/],
    [{ agentRunId: "" }, "InvalidArgument", /^agentRunId: got empty text, expected text of 1 to 256 bytes/],
    [{ agentRunId: "\uD800" }, "InvalidArgument", /^agentRunId: got text/],
    [{ agentRunId: "ä".repeat(129) }, "InvalidArgument", /^agentRunId: got text/],
    [{ notBefore: "tomorrow" }, "InvalidArgument", /^notBefore: got "tomorrow", expected a Date or RFC 3339/],
    [{ deadline: 5 }, "InvalidArgument", /^deadline: got a number/],
    [{ deadline: new Date(Number.NaN) }, "InvalidArgument", /^deadline: got a Date out of range/],
    [
      { notBefore: "2030-01-02T00:00:00Z", deadline: "2030-01-01T00:00:00Z" },
      "InvalidArgument",
      /^deadline: got a time that is not after notBefore/,
    ],
    [{ orderingKey: "" }, "InvalidArgument", /^orderingKey: got empty text/],
    [{ orderingKey: "a b" }, "InvalidArgument", /^orderingKey: got text, expected 1 to 128/],
    [
      { orderingKey: "a", notBefore: "2030-01-01T00:00:00Z" },
      "Unsupported",
      /^notBefore: expected none beside an orderingKey/,
    ],
  ];
  for (const [options, code, message] of cases)
    await refusedWith(code, message, () =>
      client.enqueue(PUBLISH, INPUT, { agentRunId: "run", ...(options as EnqueueOptions) }),
    );
  await refusedWith("InvalidArgument", /^task\.type: got nothing/, () => client.enqueue({} as typeof PUBLISH, INPUT));
  await refusedWith("InvalidArgument", /^task "x"\.input: got nothing, expected a zod schema/, () =>
    client.enqueue({ type: "x" } as typeof PUBLISH, INPUT),
  );
  assert.deepEqual((await store.listByRun("run")).items, []);
});

test("an ordering key goes where order is kept, and nowhere else", async () => {
  const ordered = setup({ settings: { ordering: true } });
  const { task } = await ordered.client.enqueue(PUBLISH, INPUT, { orderingKey: "customer/7" });
  assert.equal(task.ordering_key, "customer/7");
  assert.equal((await ordered.receive())[0]?.orderingKey, "customer/7");
  const unordered = setup({ settings: { ordering: false } });
  await refusedWith("Unsupported", /^orderingKey: queue "orders" \(memory\) keeps no order/, () =>
    unordered.client.enqueue(PUBLISH, INPUT, { orderingKey: "a" }),
  );
});

test("a misspelt option is refused: without its key each call would make another task", async () => {
  const { client } = setup();
  await refusedWith(
    "InvalidArgument",
    /^options: got the field "kee", expected an object with any of key, taskId/,
    () => client.enqueue(PUBLISH, INPUT, { kee: "daily" } as EnqueueOptions),
  );
});
