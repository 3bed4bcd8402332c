import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FAULTS, planFaults, systemFaults } from "./faults.ts";
import { inputs } from "./handlers.ts";
import { seededEntropy } from "./random.ts";
import { parseTaskFile, type ToolCall } from "./task-file.ts";

const file = parseTaskFile("tasks.jsonl", readFileSync(new URL("./tasks.jsonl", import.meta.url), "utf8"), inputs);
const calls: readonly ToolCall[] = file.ok ? file.calls : [];
const timing = { everyMs: 5_000 / calls.length, recoverAfterMs: 2_000 };

test("whatever the seed, the demo's run shows every fault, each on a task of its own that can have it", () => {
  for (let seed = 0; seed < 50; seed++) {
    const plan = planFaults({ calls, random: seededEntropy(seed).random, ...timing });
    assert.deepEqual(plan.map((fault) => fault.kind).sort(), Object.keys(FAULTS).sort());
    assert.equal(new Set(plan.map((fault) => fault.call)).size, plan.length);
    const targets = plan.map(({ call }) => call);
    for (const { kind, call, spares } of plan) {
      for (const each of [call, ...spares])
        assert.ok(FAULTS[kind].types.includes(each.type), `${kind} hits ${each.type}`);
      assert.ok(!spares.some((spare) => targets.includes(spare)), `a spare of ${kind} is another fault's`);
    }
  }
});

test("the same seed hits the same tasks", () => {
  const planOf = (seed: number) => planFaults({ calls, random: seededEntropy(seed).random, ...timing });
  assert.deepEqual(planOf(7), planOf(7));
  assert.notDeepEqual(planOf(7), planOf(8));
});

test("a fault that no task can show is left out", () => {
  const one = calls.filter((call) => call.type === "open_issue").slice(0, 1);
  const plan = planFaults({ calls: one, random: () => 0, ...timing });
  assert.deepEqual(
    plan.map((fault) => fault.kind),
    ["crash_after_commit"],
  );
  assert.deepEqual(planFaults({ calls: [], random: () => 0, ...timing }), []);
});

test("the external system is told what it has to do wrong", () => {
  const plan = planFaults({ calls, random: () => 0, ...timing });
  const callOf = (kind: string) => plan.find((fault) => fault.kind === kind)?.call.input;
  assert.deepEqual(systemFaults(plan), {
    hang: [callOf("hung_call")?.["draft"]],
    slow: [callOf("lost_renewals")?.["draft"]],
    dropAnswer: [callOf("lost_answer")?.["title"]],
  });
});
