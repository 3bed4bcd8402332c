import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { planComparison } from "./comparison-plan.ts";
import { FAULTS } from "./faults.ts";
import { inputs } from "./handlers.ts";
import { seededEntropy } from "./random.ts";
import { parseTaskFile, type ToolCall } from "./task-file.ts";

const file = parseTaskFile("tasks.jsonl", readFileSync(new URL("./tasks.jsonl", import.meta.url), "utf8"), inputs);
const calls: readonly ToolCall[] = file.ok ? file.calls : [];
const settings = { everyMs: 5_000 / calls.length, recoverAfterMs: 2_000 };

test("whatever the seed, every fault has a task of its own, and those that a crash hits come first", () => {
  for (let seed = 0; seed < 50; seed++) {
    const { plan, held, ...ordered } = planComparison({ calls, random: seededEntropy(seed).random, ...settings });
    assert.deepEqual(
      plan.map(({ kind }) => kind),
      ["crash_after_send", "crash_after_commit", "hung_call", "lost_message", "lost_answer", "doubled_message"],
    );
    assert.equal(new Set(plan.map(({ call }) => call)).size, plan.length);
    for (const { kind, call, spares } of plan) {
      assert.ok(FAULTS[kind].types.includes(call.type), `${kind} hits ${call.type}`);
      assert.deepEqual(spares, []);
    }
    assert.deepEqual(held, ["crash_after_send", "crash_after_commit"]);
    const first = plan.slice(0, 3).map(({ call }) => call);
    assert.deepEqual(ordered.calls, [...first, ...calls.filter((call) => !first.includes(call))]);
  }
});

test("a fault that no task of the file can show is left out", () => {
  const one = calls.filter((call) => call.type === "open_issue").slice(0, 1);
  const { plan, ...ordered } = planComparison({ calls: one, random: () => 0, ...settings });
  assert.deepEqual(
    plan.map(({ kind }) => kind),
    ["crash_after_commit"],
  );
  assert.deepEqual(ordered.calls, one);
});
