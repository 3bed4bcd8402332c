import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AFTER_PAUSE, FAULTS, type FaultKind, HELD, planFaults, systemFaults } from "./faults.ts";
import { inputs } from "./handlers.ts";
import { providersOf } from "./providers.ts";
import { seededEntropy } from "./random.ts";
import { parseTaskFile, type ToolCall } from "./task-file.ts";

const file = parseTaskFile("tasks.jsonl", readFileSync(new URL("./tasks.jsonl", import.meta.url), "utf8"), inputs);
const calls: readonly ToolCall[] = file.ok ? file.calls : [];
const kindsOf = (name: string): readonly FaultKind[] => providersOf(name)[0]?.faults ?? [];
const memory = { kinds: kindsOf("memory"), everyMs: 5_000 / calls.length, recoverAfterMs: 2_000 };
const sqs = { ...memory, kinds: kindsOf("sqs") };

for (const [name, options] of Object.entries({ memory, sqs }))
  test(`whatever the seed, the demo's run shows every fault on ${name}, each on a task of its own that can have it`, () => {
    for (let seed = 0; seed < 50; seed++) {
      const plan = planFaults({ calls, random: seededEntropy(seed).random, ...options });
      assert.deepEqual(
        plan.map((fault) => fault.kind),
        options.kinds,
      );
      assert.equal(new Set(plan.map((fault) => fault.call)).size, plan.length);
      const targets = plan.map(({ call }) => call);
      for (const { kind, call, spares } of plan) {
        for (const each of [call, ...spares])
          assert.ok(FAULTS[kind].types.includes(each.type), `${kind} hits ${each.type}`);
        assert.ok(!spares.some((spare) => targets.includes(spare)), `a spare of ${kind} is another fault's`);
      }
    }
  });

test("a worker that was stopped finds work that no crash takes away from it", () => {
  for (let seed = 0; seed < 50; seed++) {
    const plan = planFaults({ calls, random: seededEntropy(seed).random, ...sqs });
    const placeOf = (kind: string) =>
      calls.findIndex((call) => call === plan.find((fault) => fault.kind === kind)?.call);
    const paused = placeOf("paused_worker");
    for (const kind of Object.keys(HELD)) {
      const after = placeOf(kind) - paused;
      assert.ok(
        kind === "paused_worker" || after < 0 || after > AFTER_PAUSE,
        `seed ${seed}: ${kind} comes ${after} after`,
      );
    }
    assert.ok(calls.length - 1 - paused >= AFTER_PAUSE);
  }
});

test("the same seed hits the same tasks", () => {
  const planOf = (seed: number) => planFaults({ calls, random: seededEntropy(seed).random, ...memory });
  assert.deepEqual(planOf(7), planOf(7));
  assert.notDeepEqual(planOf(7), planOf(8));
});

test("a fault that no task can show is left out", () => {
  const one = calls.filter((call) => call.type === "open_issue").slice(0, 1);
  const plan = planFaults({ calls: one, random: () => 0, ...memory });
  assert.deepEqual(
    plan.map((fault) => fault.kind),
    ["crash_after_commit"],
  );
  assert.deepEqual(planFaults({ calls: [], random: () => 0, ...memory }), []);
});

test("a task that another one cannot be told from is left alone", () => {
  const post = { key: "a", type: "publish_post", input: { draft: "drafts/a", title: "A" } };
  const twin = { key: "b", type: "publish_post", input: { draft: "drafts/a", title: "B" } };
  assert.deepEqual(planFaults({ ...memory, calls: [post, twin], random: () => 0 }), []);
});

test("the external system is told what it has to do wrong", () => {
  const plan = planFaults({ calls, random: () => 0, ...sqs });
  const faultOf = (kind: string) => plan.find((fault) => fault.kind === kind);
  const inputOf = (kind: string) => faultOf(kind)?.call.input;
  const rest = { hang: [inputOf("hung_call")?.["draft"]], dropAnswer: [inputOf("lost_answer")?.["title"]] };
  assert.deepEqual(systemFaults(plan, new Set()), { ...rest, slow: [inputOf("lost_renewals")?.["draft"]], hold: [] });
  const { hold, ...others } = systemFaults(plan, new Set(providersOf("sqs")[0]?.heldFaults));
  assert.deepEqual(others, { ...rest, slow: [] });
  assert.deepEqual(
    hold.map(({ name, on, subjects }) => [name, on, subjects[0]]),
    [
      ["paused_worker", "read", inputOf("paused_worker")?.["draft"]],
      ["crash_in_external_call", "read", inputOf("crash_in_external_call")?.["draft"]],
      ["lost_renewals", "read", inputOf("lost_renewals")?.["draft"]],
      ["crash_after_send", "write", inputOf("crash_after_send")?.["text"]],
      ["crash_after_commit", "write", inputOf("crash_after_commit")?.["title"]],
    ],
  );
  assert.equal(hold.at(-1)?.subjects.length, 1 + (faultOf("crash_after_commit")?.spares.length ?? 0));
});
