import assert from "node:assert/strict";
import { test } from "node:test";
import type { Case, Harness, Suite } from "./case.ts";
import { linesOf, problemsOf, summaryOf, totalsOf } from "./report.ts";
import { type HarnessSource, part, type RunOptions, runTarget } from "./run.ts";

interface Bench extends Harness {
  readonly number: number;
}

interface Opened {
  readonly source: HarnessSource<Bench>;
  readonly opened: number[];
  readonly closed: number[];
}

function benches(per?: "case" | "suite", close: (number: number) => Promise<void> = async () => {}): Opened {
  const opened: number[] = [];
  const closed: number[] = [];
  const open = async (): Promise<Bench> => {
    const number = opened.length;
    opened.push(number);
    return {
      number,
      has: new Set(["time"]),
      minLeaseMs: 1_000,
      toleranceMs: 0,
      wait: async () => {},
      async close() {
        closed.push(number);
        await close(number);
      },
    };
  };
  return { source: { open, ...(per !== undefined && { per }) }, opened, closed };
}

const run = (cases: readonly Case<Bench>[], source: HarnessSource<Bench>, options: RunOptions = {}) => {
  const suite: Suite<Bench> = { subject: "subject", cases };
  return runTarget({ name: "target", parts: [part("queue", [suite], source)] }, options);
};

const passes: Case<Bench> = { name: "passes", run: async () => {} };
const fails: Case<Bench> = {
  name: "fails",
  async run() {
    assert.equal(1, 2, "one is not two");
  },
};

test("cases pass, fail with their message, and are skipped with what the target lacks or declares", async () => {
  const lacks: Case<Bench> = { ...fails, name: "lacks", needs: ["time", "restart", "faults"] };
  const declared: Case<Bench> = { ...fails, name: "declared", unless: () => "this broker has no keys" };
  const results = await run([passes, fails, lacks, declared], benches().source);
  assert.deepEqual(
    results.map(({ name, status, reason }) => [name, status, reason?.split("\n")[0]]),
    [
      ["passes", "passed", undefined],
      ["fails", "failed", "one is not two"],
      ["lacks", "skipped", "the target lacks: restart, faults"],
      ["declared", "skipped", "this broker has no keys"],
    ],
  );
  assert.match(results[1]?.reason ?? "", /\(run\.test\.ts:\d+\)$/, "the line of the case is named");
  assert.deepEqual(totalsOf(results), { passed: 1, failed: 1, skipped: 2 });
  assert.deepEqual(
    summaryOf(results).skips.map((skip) => skip.reason),
    ["the target lacks: restart, faults", "this broker has no keys"],
  );
  assert.equal(linesOf("target", results).length, 4);
});

test("each case has a harness of its own, or those of a suite share one; all are closed", async () => {
  const numbers: number[] = [];
  const cases = ["a", "b"].map((name): Case<Bench> => ({ name, run: async ({ number }) => void numbers.push(number) }));
  const own = benches();
  await run(cases, own.source);
  const shared = benches("suite");
  await run(cases, shared.source);
  assert.deepEqual(numbers, [0, 1, 0, 0]);
  assert.deepEqual([own.closed, shared.closed], [[0, 1], [0]]);
});

test("cases in real time run side by side as far as the pace allows, and are answered in their order", async () => {
  const running: string[] = [];
  let most = 0;
  const waits = (name: string, ms: number): Case<Bench> => ({
    name,
    async run() {
      running.push(name);
      most = Math.max(most, running.length);
      await new Promise((resolve) => setTimeout(resolve, ms));
      running.splice(running.indexOf(name), 1);
    },
  });
  const cases = [waits("a", 30), waits("b", 20), waits("c", 10), waits("d", 0)];
  const pace = () => ({ sideBySide: 2, watchdogMs: 30_000 });
  const results = await run(cases, { ...benches().source, pace });
  assert.deepEqual(
    results.map(({ name, status }) => [name, status]),
    ["a", "b", "c", "d"].map((name) => [name, "passed"]),
  );
  assert.equal(most, 2);
});

test("what a harness finds wrong at its end fails the case", async () => {
  const leaky = benches("case", async () => {
    throw new Error("timers were left behind");
  });
  const [result] = await run([passes], leaky.source);
  assert.equal(result?.status, "failed");
  assert.match(result?.reason ?? "", /timers were left behind/);
});

test("a harness that cannot be opened fails each of its cases", async () => {
  const open = async (): Promise<Bench> => {
    throw new Error("no server");
  };
  const results = await run([passes, { ...passes, name: "second" }], { open, per: "suite" });
  assert.deepEqual(
    results.map(({ status, reason }) => [status, reason?.split(" (")[0]]),
    [
      ["failed", "no server"],
      ["failed", "no server"],
    ],
  );
});

test("a case that never ends fails, and the next one runs", async () => {
  const hangs: Case<Bench> = { name: "hangs", run: () => new Promise(() => {}) };
  const results = await run([hangs, passes], benches().source, { watchdogMs: 20 });
  assert.deepEqual(
    results.map((result) => result.status),
    ["failed", "passed"],
  );
  assert.match(results[0]?.reason ?? "", /has not ended within 20 ms/);
});

test("only what is asked for is run", async () => {
  const results = await run([passes, fails], benches().source, { only: "subject / pass" });
  assert.deepEqual(
    results.map((result) => result.name),
    ["passes"],
  );
});

test("a run has failed by a failure, by a skip without a reason, and by having run nothing", async () => {
  const silent: Case<Bench> = { ...passes, name: "silent", unless: () => " " };
  assert.deepEqual(problemsOf(await run([passes], benches().source)), []);
  assert.deepEqual(problemsOf(await run([passes, fails], benches().source)), ["failed: queue / subject / fails"]);
  assert.deepEqual(problemsOf(await run([passes, silent], benches().source)), [
    "skipped without a reason: queue / subject / silent",
  ]);
  assert.deepEqual(problemsOf([]), ["no case was run"]);
});
