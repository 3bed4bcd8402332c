import assert from "node:assert/strict";
import { test } from "node:test";
import type { Harness, Suite } from "./case.ts";
import { withDifferences } from "./differences.ts";

const suites: readonly Suite<Harness>[] = [
  { subject: "one", cases: [{ name: "holds", run: async () => {} }] },
  { subject: "two", cases: [{ name: "differs", run: async () => {} }] },
];
const difference = { reason: "it counts otherwise", link: "https://example.com/known" };
const harness = {} as Harness;

test("a difference is the reason, with its link, why one case is skipped", () => {
  const [holds, differs] = withDifferences(suites, { differs: difference }).flatMap(({ cases }) => cases);
  assert.equal(holds?.unless, undefined);
  assert.equal(differs?.unless?.(harness), "it counts otherwise (https://example.com/known)");
});

test("a difference of a case that there is not is found when the target is made", () => {
  assert.throws(() => withDifferences(suites, { renamed: difference }), /no case is called: renamed/);
});
