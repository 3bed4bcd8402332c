import assert from "node:assert/strict";
import { test } from "node:test";
import type { EffectState, TaskRecord } from "@leasehold/core";
import { taskRecordSchema } from "@leasehold/core/driver";
import type { Ledger, LedgerEntry } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";
import type { ToolCall } from "./task-file.ts";

const TIME = "2026-01-31T12:00:00.000Z";
const post: ToolCall = { key: "post", type: "publish_post", input: { draft: "drafts/a", title: "A" } };
const message: ToolCall = { key: "message", type: "send_message", input: { channel: "#docs", text: "Hello" } };

function record(call: ToolCall, more: Partial<TaskRecord> = {}): TaskRecord {
  const id = `id-of-${call.key}`;
  return taskRecordSchema.parse({
    task_id: id,
    task_type: call.type,
    queue: "q",
    status: "settled",
    stage: "settled",
    fence: 1,
    renewal_count: 0,
    attempt: 1,
    attempts_total: 1,
    delivery_count: 1,
    input_hash: "hash",
    payload_ref: "ref",
    idempotency_key: id,
    effects: {},
    open_effects: 0,
    last_claims: [],
    claim_count: 0,
    attempts: [],
    created_at: TIME,
    updated_at: TIME,
    ...more,
  });
}

function settled(call: ToolCall, externalId: string): TaskRecord {
  const receipt = {
    task_id: `id-of-${call.key}`,
    stage: "settled",
    external_system: "any",
    external_id: externalId,
    status: "done",
    idempotency_key: "key",
    verified_at: TIME,
  } as const;
  return record(call, { settlement_receipt: receipt });
}

function parked(call: ToolCall, state: EffectState["state"]): TaskRecord {
  const effect: EffectState = {
    key: "key",
    guard: "none",
    state,
    begun_at: TIME,
    first_begun_at: TIME,
    fence: 1,
    begins: 1,
    external_system: "chat",
  };
  return record(call, {
    status: "parked",
    stage: "commit",
    end_reason: "effect_unresolved: a person must look",
    effects: { send: effect },
    open_effects: state === "started" ? 1 : 0,
  });
}

const aPost: LedgerEntry = { system: "blog", reference: "id-of-post:publish", id: "blog-1", content: { title: "A" } };
const aMessage: LedgerEntry = {
  system: "chat",
  reference: "id-of-message:send",
  id: "chat-1",
  content: { text: "Hello" },
};

function ledger(...entries: readonly LedgerEntry[]): Ledger {
  return { entries, writes: entries.length, faults: { hang: 0, slow: 0, drop_answer: 0 } };
}

test("every effect once, as its receipt says: the promise was kept", () => {
  const tasks = [
    { call: post, record: settled(post, "blog-1") },
    { call: message, record: settled(message, "chat-1") },
  ];
  assert.deepEqual(checkLedger(tasks, ledger(aPost, aMessage)), { problems: [], once: 2, parked: [] });
});

test("an effect that is there twice is found", () => {
  const tasks = [{ call: post, record: settled(post, "blog-1") }];
  const verdict = checkLedger(tasks, ledger(aPost, { ...aPost, id: "blog-2" }));
  assert.deepEqual(verdict.problems, ["post: its effect is there 2 times: blog-1, blog-2"]);
  assert.equal(verdict.once, 0);
});

test("an effect that is there a second time under another key is found", () => {
  const tasks = [{ call: post, record: settled(post, "blog-1") }];
  const sameTask = checkLedger(tasks, ledger(aPost, { ...aPost, id: "blog-2", reference: "id-of-post:publish-2" }));
  assert.match(sameTask.problems[0] ?? "", /there 2 times/);
  const nobody = checkLedger(tasks, ledger(aPost, { ...aPost, id: "blog-2", reference: "another" }));
  assert.deepEqual(nobody.problems, ["blog-2: blog holds it under another, and no task of the run asked for it"]);
});

test("a settled task without its effect, with another one's receipt or content, or without a receipt is found", () => {
  const problemsOf = (end: TaskRecord, ...entries: readonly LedgerEntry[]) =>
    checkLedger([{ call: post, record: end }], ledger(...entries)).problems;
  assert.deepEqual(problemsOf(settled(post, "blog-1")), ["post: it is settled, and its effect is not there"]);
  assert.deepEqual(problemsOf(settled(post, "blog-9"), aPost), [
    "post: its receipt names blog-9, and the ledger has blog-1",
  ]);
  assert.deepEqual(problemsOf(settled(post, "blog-1"), { ...aPost, content: { title: "B" } }), [
    "post: blog-1 has another title than the task",
  ]);
  assert.deepEqual(problemsOf(record(post), aPost), ["post: it is settled without a receipt"]);
});

test("a task that did not end, or that nobody knows, is found", () => {
  const verdict = checkLedger(
    [
      { call: post, record: record(post, { status: "dead_lettered", end_reason: "attempts_exhausted: 8 attempts" }) },
      { call: message, record: undefined },
    ],
    ledger(),
  );
  assert.deepEqual(verdict.problems, [
    "post: it is dead_lettered (attempts_exhausted: 8 attempts), expected settled",
    "message: it has no record",
  ]);
});

test("parked is right only where the system cannot be read and the effect was caught open, there once or not at all", () => {
  const check = (call: ToolCall, end: TaskRecord, ...entries: readonly LedgerEntry[]) =>
    checkLedger([{ call, record: end }], ledger(...entries));
  assert.deepEqual(check(message, parked(message, "started"), aMessage), {
    problems: [],
    once: 0,
    parked: [{ call: message, there: 1 }],
  });
  assert.deepEqual(check(message, parked(message, "started")), {
    problems: [],
    once: 0,
    parked: [{ call: message, there: 0 }],
  });
  assert.match(
    check(message, parked(message, "started"), aMessage, { ...aMessage, id: "chat-2" }).problems[0] ?? "",
    /there 2 times/,
  );
  assert.match(check(message, parked(message, "failed")).problems[0] ?? "", /without having been caught in commit/);
  assert.match(check(post, parked(post, "started"), aPost).problems[0] ?? "", /though blog can be read back/);
});
