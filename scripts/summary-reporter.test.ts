import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { runProcess } from "./run-process.ts";
import { judge, readSummary } from "./summary.ts";

async function judgeRun(t: TestContext, source: string) {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-reporter-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "sample.test.mjs");
  writeFileSync(file, `import { describe, it, test } from "node:test";\n${source}`);
  const summaryFile = join(folder, "summary.json");
  const env = { LEASEHOLD_SUMMARY: summaryFile };
  const { code } = await runProcess(["node", "scripts/unit.ts", "--test-timeout=2000", file], {
    env,
    output: "collect",
  });
  return { code, ...judge(readSummary(summaryFile), code) };
}

describe("summaryReporter", { concurrency: true }, () => {
  it("counts tests and not the suites around them", async (t) => {
    const { code, passed, failed, skipped } = await judgeRun(
      t,
      'describe("outer", () => { it("a", () => {}); describe("inner", () => { it("b", () => {}); }); });',
    );
    assert.deepEqual({ code, passed, failed, skipped }, { code: 0, passed: 2, failed: 0, skipped: 0 });
  });

  it("counts a failed test, and a test that never ended", async (t) => {
    const { code, passed, failed } = await judgeRun(
      t,
      'test("a", () => {}); test("b", () => { throw new Error("no"); }); test("c", () => new Promise(() => {}));',
    );
    assert.deepEqual({ code, passed, failed }, { code: 1, passed: 1, failed: 2 });
  });

  it("counts a file that cannot be loaded", async (t) => {
    const { code, failed } = await judgeRun(t, 'import "./missing.mjs";');
    assert.deepEqual({ code, failed }, { code: 1, failed: 1 });
  });

  it("names skipped and to-do tests with their reasons", async (t) => {
    const { failed, skipped, skips } = await judgeRun(
      t,
      'test("a", { skip: "no such clock" }, () => {}); test("b", { todo: "later (#3)" }, () => {}); test("c", () => {});',
    );
    assert.equal(failed, 0);
    assert.equal(skipped, 2);
    assert.deepEqual(skips, [
      { name: "a", reason: "no such clock" },
      { name: "b", reason: "later (#3)" },
    ]);
  });

  it("fails a run that skips a test, or a whole suite, without a reason", async (t) => {
    for (const source of [
      'test("a", { skip: true }, () => {}); test("b", () => {});',
      'test("a", (t) => t.skip()); test("b", () => {});',
      'describe("s", { skip: true }, () => { it("a", () => {}); }); test("b", () => {});',
    ]) {
      const { code, failed } = await judgeRun(t, source);
      assert.deepEqual({ code, failed }, { code: 0, failed: 1 }, source);
    }
  });
});
