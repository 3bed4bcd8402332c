import assert from "node:assert/strict";
import { test } from "node:test";
import type { TaskRecord } from "@leasehold/core";
import { type Evidence, JUDGED, judge } from "./judge.ts";
import type { Entry, System } from "./outside.ts";

const entry = (system: System, id: string, fence = 1): Entry => ({ system, id, key: "key", task: "t", fence });
const receipt = { external_id: "blog-1" };

/** A record of task `t` with what a judgement reads; everything else of it is beside the point. */
function record(changes: Readonly<Record<string, unknown>> = {}): TaskRecord {
  const effects = { blog: { state: "verified", receipt } };
  const settled = { task_id: "t", status: "settled", fence: 1, open_effects: 0, effects, settlement_receipt: receipt };
  return { ...settled, ...changes } as unknown as TaskRecord;
}

function brokenBy(changes: {
  readonly entries?: readonly Entry[];
  readonly fences?: readonly number[];
  readonly runsOf?: string;
  readonly now?: TaskRecord | undefined;
  readonly before?: TaskRecord;
  readonly receipts?: Readonly<Record<string, unknown>>;
  readonly messagesLeft?: number;
}): readonly number[] {
  const { entries = [entry("blog", "blog-1")], fences = [1], before, receipts = {}, messagesLeft = 0 } = changes;
  const task = changes.runsOf ?? "t";
  const evidence: Evidence = {
    outside: { entries, runs: fences.map((fence) => ({ task, fence })) },
    tasks: new Map([["t", "now" in changes ? changes.now : record()]]),
    seenSettled: new Map(before === undefined ? [] : [["t", before]]),
    seenReceipts: new Map([["t", new Map(Object.entries(receipts).map(([name, one]) => [name, JSON.stringify(one)]))]]),
    messagesLeft,
  };
  return [...new Set(judge(evidence).map(({ invariant }) => invariant))];
}

test("a run in order breaks nothing", () => {
  assert.deepEqual(brokenBy({ before: record(), receipts: { blog: receipt } }), []);
});

test("a fence that ran twice, or after the end, is a second holder", () => {
  assert.deepEqual(brokenBy({ fences: [1, 1] }), [1]);
  assert.deepEqual(brokenBy({ fences: [1, 2] }), [1]);
  assert.deepEqual(brokenBy({ entries: [entry("blog", "blog-1", 2)] }), [1]);
  assert.deepEqual(brokenBy({ runsOf: "a task that nobody enqueued" }), [1]);
});

test("a receipt of nothing, or another one than before, is none", () => {
  assert.deepEqual(brokenBy({ entries: [] }), [2]);
  assert.deepEqual(brokenBy({ before: record({ settlement_receipt: { external_id: "blog-2" } }) }), [2]);
  assert.deepEqual(brokenBy({ receipts: { blog: { external_id: "blog-2" } } }), [2]);
  assert.deepEqual(brokenBy({ receipts: { chat: receipt } }), [2]);
  assert.deepEqual(brokenBy({ now: record({ settlement_receipt: undefined }) }), [2]);
  assert.deepEqual(brokenBy({ now: record({ settlement_receipt: { external_id: "blog-2" } }) }), [2]);
  const none = { external_system: "none", external_id: "a digest" };
  assert.deepEqual(brokenBy({ entries: [], now: record({ effects: {}, settlement_receipt: none }) }), []);
});

test("a settled task that goes on was not final", () => {
  assert.deepEqual(brokenBy({ before: record(), now: record({ status: "parked" }) }), [3]);
  assert.deepEqual(brokenBy({ before: record(), now: record({ fence: 2 }) }), [3]);
  assert.deepEqual(
    brokenBy({ before: record(), entries: [entry("blog", "blog-1"), entry("chat", "chat-2", 2)] }),
    [1, 3],
  );
  assert.deepEqual(brokenBy({ before: record(), fences: [1, 2] }), [1, 3]);
});

test("two of one effect are one too many, with a guard and without", () => {
  assert.deepEqual(brokenBy({ entries: [entry("blog", "blog-1"), entry("blog", "blog-2")] }), [4]);
  const effects = { bank: { state: "verified", receipt: { external_id: "bank-1" } } };
  const now = record({ effects, settlement_receipt: { external_id: "bank-1" } });
  assert.deepEqual(brokenBy({ now, entries: [entry("bank", "bank-1"), entry("bank", "bank-2")] }), [5]);
});

test("a task that waits for nobody, or is gone, is lost", () => {
  assert.deepEqual(brokenBy({ now: record({ status: "released" }) }), [6]);
  assert.deepEqual(brokenBy({ now: undefined }), [6]);
  assert.deepEqual(brokenBy({ now: record({ task_type: "post", status: "dead_lettered" }) }), [6]);
  assert.deepEqual(brokenBy({ now: record({ task_type: "post", status: "parked" }) }), [6]);
  assert.deepEqual(brokenBy({ now: record({ task_type: "transfer", status: "parked" }) }), []);
});

test("an effect that nobody looked up leaves a task open", () => {
  assert.deepEqual(brokenBy({ now: record({ effects: { blog: { state: "started" } } }) }), [9]);
  assert.deepEqual(brokenBy({ now: record({ status: "dead_lettered", open_effects: 1, effects: {} }) }), [9]);
  assert.deepEqual(brokenBy({ now: record({ status: "parked", open_effects: 1, effects: {} }) }), []);
  const open = { effects: { blog: { state: "committed" } } };
  assert.deepEqual(brokenBy({ now: record({ status: "dead_lettered", ...open }) }), [9]);
  assert.deepEqual(brokenBy({ now: record({ status: "parked", ...open }) }), []);
  assert.deepEqual(brokenBy({ messagesLeft: 1 }), [9]);
});

test("every invariant that is judged has been broken here", () => {
  assert.deepEqual(Object.keys(JUDGED).map(Number), [1, 2, 3, 4, 5, 6, 9]);
});
