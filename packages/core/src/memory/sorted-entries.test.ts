import assert from "node:assert/strict";
import { test } from "node:test";
import { createSortedEntries, type SortedEntry } from "./sorted-entries.ts";

/** A fixed sequence that looks random, so that a failure can be repeated. */
function sequence(): () => number {
  let state = 12_345;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state >>> 8;
  };
}

function entryOf(number: number): SortedEntry {
  return { sort: `s${String(number % 400).padStart(3, "0")}`, key: `k${String(number % 7_919).padStart(4, "0")}` };
}

function named(entries: Iterable<SortedEntry>): string[] {
  return Array.from(entries, (entry) => `${entry.sort} ${entry.key}`);
}

test("entries come back in order after thousands were added and removed", () => {
  const next = sequence();
  const sorted = createSortedEntries();
  const model = new Set<string>();
  for (let step = 0; step < 6_000; step++) {
    const entry = entryOf(next());
    const name = `${entry.sort} ${entry.key}`;
    if (next() % 3 === 0) {
      sorted.remove(entry);
      model.delete(name);
    } else if (!model.has(name)) {
      sorted.add(entry);
      model.add(name);
    }
  }
  const expected = [...model].sort();
  assert.ok(expected.length > 1_000, "enough for several chunks");
  assert.equal(sorted.size, expected.length);
  assert.deepEqual(named(sorted.walk({})), expected);
  assert.deepEqual(named(sorted.walk({ descending: true })), expected.toReversed());

  for (const upTo of ["s000", "s123", "s399", "s1234"]) {
    const within = expected.filter((name) => (name.split(" ")[0] as string) <= upTo);
    assert.deepEqual(named(sorted.walk({ upTo })), within);
    assert.deepEqual(named(sorted.walk({ upTo, descending: true })), within.toReversed());
  }
  for (const at of [0, 255, 256, 700, expected.length - 1]) {
    const [sort, key] = (expected[at] as string).split(" ") as [string, string];
    assert.deepEqual(named(sorted.walk({ after: { sort, key } })), expected.slice(at + 1));
    assert.deepEqual(named(sorted.walk({ after: { sort, key }, descending: true })), expected.slice(0, at).reverse());
  }
  // A place whose entry is gone is still a place.
  const gone = { sort: "s200", key: "k9999" };
  assert.deepEqual(
    named(sorted.walk({ after: gone })),
    expected.filter((name) => name > "s200 k9999"),
  );
});

test("an empty list, and one emptied again", () => {
  const sorted = createSortedEntries();
  assert.deepEqual(named(sorted.walk({})), []);
  assert.deepEqual(named(sorted.walk({ descending: true, after: { sort: "a", key: "b" } })), []);
  sorted.remove({ sort: "a", key: "b" });
  sorted.add({ sort: "a", key: "b" });
  sorted.remove({ sort: "a", key: "c" });
  sorted.remove({ sort: "a", key: "b" });
  assert.equal(sorted.size, 0);
  assert.deepEqual(named(sorted.walk({})), []);
});
