import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { closingLine, judge } from "./summary.ts";

const text = (summary: object) => JSON.stringify({ passed: 0, failed: 0, skipped: 0, skips: [], ...summary });

describe("judge", () => {
  it("takes the counts of a suite that tells them", () => {
    const skips = [{ name: "FIFO", reason: "the provider has none" }];
    const verdict = judge(text({ passed: 3, skipped: 1, skips }), 0);
    assert.deepEqual(verdict, { passed: 3, failed: 0, skipped: 1, skips, problems: [] });
  });

  it("counts one failure for a suite that tells nothing, or nothing that can be read", () => {
    for (const told of [
      undefined,
      "",
      "{",
      "{}",
      text({ passed: -1 }),
      text({ failed: 0.5 }),
      text({ skips: "none" }),
    ]) {
      assert.equal(judge(told, 0).failed, 1, `told ${told}`);
    }
  });

  it("counts one failure for a bad exit code that no failed test explains", () => {
    assert.equal(judge(text({ passed: 3 }), 1).failed, 1);
    assert.equal(judge(text({ passed: 3, failed: 2 }), 1).failed, 2);
  });

  it("counts one failure for skips without a reason", () => {
    assert.equal(judge(text({ passed: 1, skipped: 2, skips: [{ name: "a", reason: "b" }] }), 0).failed, 1);
    assert.equal(judge(text({ passed: 1, skipped: 1, skips: [{ name: "a", reason: " " }] }), 0).failed, 1);
  });

  it("counts one failure for a suite that ran nothing", () => {
    assert.equal(judge(text({}), 0).failed, 1);
  });
});

describe("closingLine", () => {
  it("sums the suites, and names skips only where there are any", () => {
    const one = { passed: 2, failed: 1, skipped: 0, skips: [] };
    assert.equal(closingLine([one, one]), "4 passed, 2 failed");
    assert.equal(closingLine([one, { ...one, skipped: 3 }]), "4 passed, 2 failed, 3 skipped");
  });
});
