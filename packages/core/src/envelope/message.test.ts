import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskRecord } from "../record/record.ts";
import { byteLength } from "../util/json.ts";
import { decodeEnvelope } from "./codec.ts";
import { EVENT_CONTENT_TYPE, INLINE_DATA_BYTES, MESSAGE_RESERVE_BYTES, type TaskEvent } from "./envelope.ts";
import { inputOf, taskIdOf } from "./ids.ts";
import { ringMessage, taskMessage } from "./message.ts";

const RECORD: TaskRecord = {
  task_id: "task_1",
  task_type: "publish_post",
  queue: "orders",
  agent_run_id: "run-8842",
  status: "queued",
  stage: "preflight",
  fence: 0,
  renewal_count: 0,
  attempt: 0,
  attempts_total: 0,
  delivery_count: 0,
  input_hash: "abc",
  payload_ref: "payload#task_1#abc",
  idempotency_key: "task_1",
  effects: {},
  open_effects: 0,
  last_claims: [],
  claim_count: 0,
  attempts: [],
  not_before: "2026-02-01T00:00:00.000Z",
  deadline: "2026-03-01T00:00:00.000Z",
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  created_at: "2026-01-31T12:00:00.000Z",
  updated_at: "2026-01-31T12:00:00.000Z",
};
const LARGE = 1024 * 1024;

function eventOf(body: string): TaskEvent {
  const outcome = decodeEnvelope(body, EVENT_CONTENT_TYPE);
  assert.ok(outcome.ok);
  return outcome.event;
}

/** An input whose canonical text has exactly this many bytes. */
function inputOfBytes(bytes: number, character = "x") {
  const input = inputOf(character.repeat((bytes - 2) / byteLength(character)));
  assert.equal(byteLength(input.text), bytes);
  return input;
}

test("the first message carries the task and its input", () => {
  const message = taskMessage(RECORD, inputOf({ title: "Hello" }), LARGE, { delayMs: 1.5, tracestate: "vendor=1" });
  assert.equal(message.id, "task_1");
  assert.equal(message.contentType, EVENT_CONTENT_TYPE);
  assert.equal(message.delayMs, 2);
  assert.equal(message.orderingKey, undefined);
  const event = eventOf(message.body);
  assert.deepEqual(event, {
    id: "task_1",
    source: "leasehold:orders",
    type: "publish_post",
    time: RECORD.created_at,
    agentrunid: "run-8842",
    idempotencykey: "task_1",
    notbefore: RECORD.not_before,
    deadline: RECORD.deadline,
    traceparent: RECORD.traceparent,
    tracestate: "vendor=1",
    data: { title: "Hello" },
  });
  assert.deepEqual(taskIdOf(event, "orders"), { ok: true, taskId: "task_1" });
});

test("an ordering key is on message and event; without delay there is none", () => {
  const message = taskMessage({ ...RECORD, ordering_key: "customer/7" }, inputOf(null), LARGE, { delayMs: 0 });
  assert.equal(message.orderingKey, "customer/7");
  assert.ok(!("delayMs" in message));
  assert.equal(eventOf(message.body).partitionkey, "customer/7");
});

test("an input travels inside up to 64 KB, to the byte", () => {
  const inside = eventOf(taskMessage(RECORD, inputOfBytes(INLINE_DATA_BYTES), LARGE).body);
  assert.ok("data" in inside && !("dataref" in inside));
  const outside = eventOf(taskMessage(RECORD, inputOfBytes(INLINE_DATA_BYTES + 1), LARGE).body);
  assert.ok(!("data" in outside));
  assert.equal(outside.dataref, "abc");
});

test("the whole stays 8 KiB below what the broker takes, to the byte, escapes counted", () => {
  const input = inputOfBytes(30_002, "\uFFFE");
  const whole = taskMessage(RECORD, input, LARGE);
  assert.ok(byteLength(whole.body) > 30_002);
  const exact = byteLength(whole.body) + MESSAGE_RESERVE_BYTES;
  assert.ok("data" in eventOf(taskMessage(RECORD, input, exact).body));
  assert.equal(eventOf(taskMessage(RECORD, input, exact - 1).body).dataref, "abc");
});

test("a ring names the payload and has an id of its own for each move", () => {
  const ring = ringMessage(RECORD, 1_769_860_800_000);
  assert.equal(ring.id, "task_1.r1769860800000");
  assert.notEqual(ringMessage(RECORD, 1_769_860_800_001).id, ring.id);
  const event = eventOf(ring.body);
  assert.equal(event.dataref, "abc");
  assert.ok(!("data" in event));
  assert.equal(event.id, "task_1");
  assert.equal(event.traceparent, RECORD.traceparent);
});
