import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { deadLetterMarks, printableReason } from "../queue/dead-letter.ts";
import { storable } from "../store/storable.ts";
import { byteLength, canonicalJson, clipBytes, parseJson } from "./json.ts";
import { isVague, MAX_REASON_BYTES, storedReason } from "./reason.ts";

const runs = { numRuns: 500, seed: 1 };
const text = fc.string({ unit: "binary", maxLength: 300 });

describe("canonical JSON", () => {
  test("says the same value, and the same text however the members were ordered", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const canonical = canonicalJson(value, "value");
        assert.deepEqual(JSON.parse(canonical), JSON.parse(JSON.stringify(value)));
        assert.equal(canonicalJson(reversed(value), "value"), canonical);
        assert.equal(canonicalJson(JSON.parse(canonical), "value"), canonical);
      }),
      runs,
    );
  });

  test("of anything at all is text, or an error that names the place", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withTypedArray: true }), (value) => {
        try {
          assert.ok(parseJson(canonicalJson(value, "value")));
        } catch (error) {
          assert.match((error as Error).message, /^value/);
        }
      }),
      runs,
    );
  });
});

test("what is stored is what was given, whatever its members are called", () => {
  const name = fc.oneof(fc.constantFrom("__proto__", "constructor", "toString", "then"), fc.string());
  const value = fc.jsonValue({ maxDepth: 3 });
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), value, (members, inner) => {
      const given = Object.fromEntries([...members, ["nested", Object.fromEntries([["__proto__", inner]])]]);
      assert.equal(JSON.stringify(storable(given, "value")), JSON.stringify(given));
    }),
    runs,
  );
});

describe("text that is cut", () => {
  test("fits, is well-formed where it was, and is untouched when it fitted", () => {
    fc.assert(
      fc.property(text, fc.nat(100), (long, maxBytes) => {
        const clipped = clipBytes(long, maxBytes);
        assert.ok(byteLength(clipped) <= maxBytes, `${byteLength(clipped)} of ${maxBytes}`);
        if (long.isWellFormed()) assert.ok(clipped.isWellFormed());
        if (byteLength(long) <= maxBytes) assert.equal(clipped, long);
      }),
      runs,
    );
  });

  test("a reason as it is stored: 120 bytes at most, no control characters, the same when it is stored again", () => {
    fc.assert(
      fc.property(text, (reason) => {
        const stored = storedReason(reason);
        assert.ok(byteLength(stored) <= MAX_REASON_BYTES);
        assert.doesNotMatch(stored, /\p{Cc}/u);
        assert.equal(storedReason(stored), stored);
      }),
      runs,
    );
  });

  test("a dead letter's marks: never empty, in the limit, printable", () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 8, max: 4_096 }), (code, reason, maxBytes) => {
        const printable = printableReason({ code, text: reason }, maxBytes);
        assert.notEqual(printable.code, "");
        for (const value of Object.values(deadLetterMarks({ code, text: reason }, 7, maxBytes))) {
          assert.ok(value !== "" && byteLength(value) <= Math.max(maxBytes, 8));
          assert.doesNotMatch(value, /[\p{Cc}\p{Cs}\uFFFE\uFFFF]/u);
        }
      }),
      runs,
    );
  });
});

describe("vague reasons", () => {
  const vague = fc.constantFrom(
    "still running",
    "heartbeat",
    "processing",
    "working on it",
    "please wait",
    "in progress",
  );
  const decoration = fc.constantFrom("", " ", "...", "!", " - ", "\n", "…", "(", ")", " 12s ", " 3 min ");

  test("stay vague in any case, with any decoration, and with the time that has passed", () => {
    fc.assert(
      fc.property(vague, decoration, decoration, fc.boolean(), (words, before, after, loud) => {
        assert.ok(isVague(before + (loud ? words.toUpperCase() : words) + after));
      }),
      runs,
    );
  });

  test("are specific as soon as they say how much is done", () => {
    fc.assert(
      fc.property(vague, fc.nat(), fc.nat(), (words, done, total) => {
        assert.ok(!isVague(`${words} ${done}/${total}`));
        assert.ok(!isVague(`${words}: ${done} of ${total}`));
      }),
      runs,
    );
  });
});

/** The same value with the members of each object in the opposite order. */
function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  );
}
