import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { JUDGED } from "../chaos/judge.ts";
import { lifecycleSuites } from "../lifecycle/all.ts";
import { queueSuites } from "../queue/all.ts";
import { INVARIANTS } from "../simulation/report.ts";
import { storeSuites } from "../store/all.ts";

const parts = { lifecycle: lifecycleSuites, queue: queueSuites, store: storeSuites };
const subjects = Object.entries(parts).flatMap(([part, suites]) => suites.map(({ subject }) => `${part} / ${subject}`));

/** The rows of the table of promises: number, promise, tests. */
async function promises(): Promise<readonly { readonly number: number; readonly tests: readonly string[] }[]> {
  const page = await readFile(new URL("../../../docs/guarantees.md", import.meta.url), "utf8");
  const rows = page.matchAll(/^\| (\d+) \| .* \| (.*) \|$/gm);
  return [...rows].map(([, number, tests = ""]) => ({ number: Number(number), tests: tests.split("; ") }));
}

test("each test that the page on guarantees names is there, under that name", async () => {
  const rows = await promises();
  assert.deepEqual(
    rows.map(({ number }) => number),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  for (const { number, tests } of rows) {
    for (const each of tests) {
      const [, kind, names = ""] =
        /^(simulation|chaos|conformance:|`pnpm demo --provider all`)(?: (.*))?$/.exec(each) ?? [];
      if (kind === "conformance:") {
        for (const name of names.split(", ")) assert.ok(subjects.includes(name), `${number}: there is no ${name}`);
      } else {
        const known = { simulation: INVARIANTS, chaos: JUDGED }[kind ?? ""];
        if (known !== undefined) assert.ok(Number(names) === number && known[number] !== undefined, each);
        else assert.ok(kind?.startsWith("`pnpm demo"), each);
      }
    }
  }
});

test("the page names each invariant that simulation and chaos judge", async () => {
  const rows = await promises();
  for (const [kind, known] of [["simulation", INVARIANTS] as const, ["chaos", JUDGED] as const]) {
    const named = rows.filter(({ tests }) => tests.some((each) => each.startsWith(kind))).map(({ number }) => number);
    assert.deepEqual(named, Object.keys(known).map(Number));
  }
});
