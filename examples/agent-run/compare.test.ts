import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt, TaskRecord } from "@leasehold/core";
import { taskRecordSchema } from "@leasehold/core/driver";
import { type ComparedTask, comparedValues, compareRuns } from "./compare.ts";
import { sideBySide } from "./side-by-side.ts";

const [EARLY, LATE] = ["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:07.000Z"];

function receiptOf(verifiedAt: string): Receipt {
  return {
    task_id: "id",
    stage: "verify",
    external_system: "blog",
    external_id: "blog-1",
    status: "published",
    idempotency_key: "id:publish",
    verified_at: verifiedAt,
  };
}

/** The same task as two runs would leave it; `at`: when, `fence`: after how many acquisitions. */
function taskOf(at: string, fence: number, more: Partial<TaskRecord> = {}, result = '{"post":"blog-1"}'): ComparedTask {
  const record = taskRecordSchema.parse({
    task_id: "id",
    task_type: "publish_post",
    queue: "q",
    status: "settled",
    stage: "settled",
    fence,
    renewal_count: fence,
    attempt: 1,
    attempts_total: fence,
    delivery_count: fence,
    input_hash: "hash",
    payload_ref: "ref",
    idempotency_key: "id",
    effects: {
      publish: {
        key: "id:publish",
        guard: "idempotent",
        state: "verified",
        begun_at: at,
        first_begun_at: at,
        fence,
        begins: 1,
        external_system: "blog",
        external_id: "blog-1",
        receipt: receiptOf(at),
      },
    },
    open_effects: 0,
    last_claims: [
      { stage: "external_call", reason: "3 of 4 pages", at, progress: { done: 3, total: 4, unit: "pages" } },
      { stage: "commit", reason: "begin publish", at },
    ],
    claim_count: 2,
    attempts: [],
    settlement_receipt: receiptOf(at),
    created_at: at,
    updated_at: at,
    ...more,
  });
  return { key: "post", record, result };
}

const here = { provider: "memory", tasks: [taskOf(EARLY, 1)] };

function differences(other: ComparedTask): readonly (readonly (string | undefined)[])[] {
  return compareRuns([here, { provider: "sqs", tasks: [other] }]).map(({ field, first, value }) => [
    field,
    first.value,
    value,
  ]);
}

test("times, traces and fences are a run's own; all else is compared", () => {
  assert.deepEqual(differences(taskOf(LATE, 2, { trace_id: "0af7651916cd43dd8448eb211c80319c" })), []);
  const fields = [...comparedValues(taskOf(EARLY, 1)).keys()];
  for (const field of ["status", "stage", "attempt", "result.post", "claims.count", "claims.last.0.progress.done"])
    assert.ok(fields.includes(field), field);
  for (const field of ["effects.publish.state", "effects.publish.begins", "effects.publish.receipt.external_id"])
    assert.ok(fields.includes(field), field);
  assert.ok(fields.includes("receipts.idempotency_key"));
  assert.ok(!fields.some((field) => /(_at|\.at|fence|trace_id)$/.test(field)), fields.join(" "));
});

test("each field that differs is found, with both values", () => {
  assert.deepEqual(differences(taskOf(EARLY, 1, { status: "parked" })), [["status", '"settled"', '"parked"']]);
  assert.deepEqual(differences(taskOf(EARLY, 1, { stage: "verify" })), [["stage", '"settled"', '"verify"']]);
  assert.deepEqual(differences(taskOf(EARLY, 1, { attempt: 2 })), [["attempt", "1", "2"]]);
  assert.deepEqual(differences(taskOf(EARLY, 1, { claim_count: 3 })), [["claims.count", "2", "3"]]);
  assert.deepEqual(differences(taskOf(EARLY, 1, {}, '{"post":"blog-2"}')), [["result.post", '"blog-1"', '"blog-2"']]);
  assert.deepEqual(
    differences(taskOf(EARLY, 1, { settlement_receipt: { ...receiptOf(EARLY), verified_by: "answer" } })),
    [["receipts.verified_by", undefined, '"answer"']],
  );
  const [claim] = taskOf(EARLY, 1).record?.last_claims ?? [];
  assert.ok(claim !== undefined);
  assert.deepEqual(
    differences(taskOf(EARLY, 1, { last_claims: [claim] })).map(([field]) => field),
    ["claims.last.1.stage", "claims.last.1.reason"],
  );
});

test("an effect or a whole record that one of them lacks is found", () => {
  assert.ok(differences(taskOf(EARLY, 1, { effects: {} })).every(([field]) => field?.startsWith("effects.publish.")));
  assert.notEqual(differences(taskOf(EARLY, 1, { effects: {} })).length, 0);
  const everything = comparedValues(taskOf(EARLY, 1)).size;
  assert.equal(differences({ key: "post", record: undefined, result: undefined }).length, everything);
  assert.equal(compareRuns([here, { provider: "sqs", tasks: [] }]).length, everything);
});

test("the runs are shown side by side, and a difference in full", () => {
  const runs = [
    here,
    { provider: "sqs", tasks: [taskOf(LATE, 2)] },
    { provider: "pubsub", tasks: [taskOf(LATE, 1, { attempt: 3 })] },
  ];
  const lines = sideBySide(runs, compareRuns(runs));
  assert.match(lines[0] ?? "", /^task +memory +sqs +pubsub$/);
  assert.match(lines[1] ?? "", /^post +settled, attempt 1, blog blog-1 +same +1 field differs$/);
  assert.ok(lines.includes("differs: post: attempt: memory has 1, pubsub has 3"));
  assert.match(lines.at(-1) ?? "", /^comparison: FAILED: 1 value of 1 task differs /);
  const equal = sideBySide(runs.slice(0, 2), []);
  assert.match(equal.at(-1) ?? "", /^comparison: passed: .+ are the same on memory and sqs$/);
});
