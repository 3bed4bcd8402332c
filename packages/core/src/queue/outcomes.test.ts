import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseholdError } from "../errors.ts";
import type { Outcome } from "./driver.ts";
import { outcomesOf } from "./outcomes.ts";

/** What a driver that does not keep the contract may answer. */
const answering = (answer: unknown): (() => Promise<readonly Outcome[]>) => {
  return async () => answer as readonly Outcome[];
};

const statuses = async (call: () => Promise<readonly Outcome[]>): Promise<readonly string[]> => {
  return (await outcomesOf(call, 2, "settle")).map((outcome) =>
    outcome.status === "failed" ? `failed ${outcome.code}: ${outcome.error.message}` : outcome.status,
  );
};

test("outcomes that keep the contract come as they are", async () => {
  const error = new LeaseholdError("Unavailable", "no answer");
  for (const outcomes of [
    [{ status: "confirmed" }, { status: "lost" }],
    [{ status: "unconfirmed" }, { status: "unconfirmed", error }],
    [{ status: "failed", code: "Unavailable", error }, { status: "confirmed" }],
  ] as const) {
    assert.deepEqual(await outcomesOf(answering(outcomes), 2, "settle"), outcomes);
  }
});

test("a call that throws has failed for each item, also when it throws before it has begun", async () => {
  const error = new LeaseholdError("PermissionDenied", "sqs:DeleteMessage");
  const expected = ["failed PermissionDenied: sqs:DeleteMessage", "failed PermissionDenied: sqs:DeleteMessage"];
  assert.deepEqual(await statuses(() => Promise.reject(error)), expected);
  const throwing = (): never => {
    throw error;
  };
  assert.deepEqual(await statuses(throwing), expected);
});

test("an answer without an outcome for an item is a failure of that item", async () => {
  const none = "failed Unknown: settle: the driver owes an outcome for each item, and gave none for this one";
  for (const answer of [undefined, null, {}, "done", [], [null, { status: "applied" }]]) {
    assert.deepEqual(await statuses(answering(answer)), [none, none], JSON.stringify(answer));
  }
  assert.deepEqual(await statuses(answering([{ status: "confirmed" }])), ["confirmed", none]);
});

test("a failure without an error of ours is a failure of unknown code", async () => {
  assert.deepEqual(await statuses(answering([{ status: "failed" }, { status: "failed", error: new Error("boom") }])), [
    "failed Unknown: settle failed: the driver gave no error",
    "failed Unknown: settle failed: boom",
  ]);
});
