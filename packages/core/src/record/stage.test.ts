import assert from "node:assert/strict";
import { test } from "node:test";
import type { EffectState } from "./record.ts";
import { countOpen, openSlots, stageOf } from "./stage.ts";

function effect(state: EffectState["state"]): EffectState {
  return {
    key: "k",
    guard: "idempotent",
    state,
    begun_at: "2026-01-31T12:00:00.000Z",
    first_begun_at: "2026-01-31T12:00:00.000Z",
    fence: 1,
    begins: 1,
    external_system: "shop",
  };
}

test("started and committed effects are open, failed and verified ones are not", () => {
  const effects = { a: effect("started"), b: effect("committed"), c: effect("failed"), d: effect("verified") };
  assert.equal(countOpen(effects), 2);
  assert.deepEqual(openSlots(effects), ["a", "b"]);
  assert.equal(countOpen({}), 0);
});

test("commit is more dangerous than verify, whichever comes first", () => {
  assert.equal(stageOf({ a: effect("committed"), b: effect("started") }, "preflight"), "commit");
  assert.equal(stageOf({ a: effect("started"), b: effect("committed") }, "preflight"), "commit");
  assert.equal(stageOf({ a: effect("committed"), b: effect("failed") }, "external_call"), "verify");
});

test("without an open effect the stage is that of the last claim", () => {
  assert.equal(stageOf({}, "preflight"), "preflight");
  assert.equal(stageOf({ a: effect("verified"), b: effect("failed") }, "external_call"), "external_call");
});
