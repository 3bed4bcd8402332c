import assert from "node:assert/strict";
import { test } from "node:test";
import type { CaseResult } from "../suite/run.ts";
import type { Divergence } from "./divergence.ts";
import { judge, strangers } from "./judge.ts";

const divergence: Divergence = {
  case: "holds",
  targets: ["a"],
  does: "it forgets",
  service: "it remembers",
  source: "https://example.com/memory",
  shows: /gone/,
};

const result = (status: CaseResult["status"], reason?: string): CaseResult => ({
  target: "a",
  part: "queue",
  subject: "all",
  name: "holds",
  status,
  ...(reason !== undefined && { reason }),
  durationMs: 1,
});

function judged(given: CaseResult, more: Partial<Divergence> = {}): readonly [string, string] {
  const [one] = judge("a", [given], [{ ...divergence, ...more }]);
  return [one?.status ?? "", one?.reason ?? ""];
}

test("a case that fails as declared is a skip that says what the server does", () => {
  assert.deepEqual(judged(result("failed", "it is gone")), [
    "skipped",
    "differs as declared: it forgets (https://example.com/memory)",
  ]);
});

test("a case that fails otherwise than declared has failed", () => {
  const [status, reason] = judged(result("failed", "connection refused"));
  assert.equal(status, "failed");
  assert.match(reason, /failed otherwise: connection refused/);
});

test("a declared case that passes, or is not run, has failed: the table has to stay true", () => {
  assert.equal(judged(result("passed"))[0], "failed");
  assert.equal(judged(result("skipped", "the target lacks: time"))[0], "failed");
});

test("one that shows only sometimes may pass, and may not fail otherwise", () => {
  assert.equal(judged(result("passed"), { sometimes: true })[0], "passed");
  assert.equal(judged(result("failed", "gone"), { sometimes: true })[0], "skipped");
  assert.equal(judged(result("failed", "refused"), { sometimes: true })[0], "failed");
});

test("what is declared of another target changes nothing", () => {
  const failed = result("failed", "it is gone");
  assert.deepEqual(judge("b", [failed], [divergence]), [failed]);
});

test("a declaration without a case is a stranger", () => {
  assert.deepEqual(strangers("a", [result("passed")], [divergence, { ...divergence, case: "renamed" }]), ["renamed"]);
});
