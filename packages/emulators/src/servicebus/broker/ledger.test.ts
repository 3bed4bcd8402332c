import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLedger, type Numbered } from "./ledger.ts";

const numbersFrom = (entries: Iterable<Numbered>): readonly number[] =>
  Array.from(entries, (one) => one.sequenceNumber);

describe("ledger", () => {
  it("shows what is in it from a number on, whether that number is there or not", () => {
    const ledger = createLedger<Numbered>();
    for (const sequenceNumber of [2, 4, 6, 8]) ledger.add({ sequenceNumber });
    assert.deepEqual(numbersFrom(ledger.from(4)), [4, 6, 8]);
    assert.deepEqual(numbersFrom(ledger.from(5)), [6, 8]);
    assert.deepEqual(numbersFrom(ledger.from(9)), []);
    assert.equal(ledger.get(5), undefined);
  });

  it("leaves out what was removed, also while it is looked at, and closes the gaps", () => {
    const ledger = createLedger<Numbered>();
    const entries = Array.from({ length: 1_000 }, (_, index) => ({ sequenceNumber: index + 1 }));
    for (const entry of entries) ledger.add(entry);
    const seen: number[] = [];
    for (const entry of ledger.from(1)) {
      seen.push(entry.sequenceNumber);
      // The one that comes next is taken away before it is reached; and so often that gaps are closed meanwhile.
      const next = entries[entry.sequenceNumber];
      if (next !== undefined) ledger.remove(next);
    }
    assert.deepEqual(seen, numbersFrom(entries.filter((_, index) => index % 2 === 0)));
    assert.equal(ledger.size(), 500);
    for (const entry of entries.slice(0, 999)) ledger.remove(entry);
    ledger.add({ sequenceNumber: 1_001 });
    assert.deepEqual(numbersFrom(ledger.from(0)), [1_001]);
  });
});
