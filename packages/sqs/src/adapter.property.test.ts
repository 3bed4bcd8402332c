import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLeaseholdError } from "@leasehold/core/driver";
import fc from "fast-check";
import { chunksOf } from "./batches.ts";
import { secondsDown, secondsUp } from "./capabilities.ts";
import { fromSqs, outcomeOf } from "./errors.ts";
import { bytesOf, type SendEntry } from "./messages.ts";

const runs = { numRuns: 500, seed: 1 };
const anything = fc.anything({ withNullPrototype: true, withDate: true, withBigInt: true });

describe("batches", () => {
  test("hold every entry once and in order, and no more bytes than a call takes unless one entry alone is larger", () => {
    const entry = fc.nat(300).map((bytes): SendEntry => ({ MessageBody: "x".repeat(bytes) }));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 10 }), fc.integer({ min: 1, max: 400 }), (entries, maxBytes) => {
        const chunks = chunksOf(entries, maxBytes);
        assert.deepEqual(chunks.flat(), entries);
        for (const chunk of chunks) {
          assert.ok(chunk.length > 0);
          const bytes = chunk.reduce((sum, each) => sum + bytesOf(each), 0);
          assert.ok(bytes <= maxBytes || chunk.length === 1);
        }
        // As few as order allows: two neighbours never fit into one.
        chunks.slice(1).forEach((chunk, index) => {
          const before = (chunks[index] as readonly SendEntry[]).reduce((sum, each) => sum + bytesOf(each), 0);
          assert.ok(before + bytesOf(chunk[0] as SendEntry) > maxBytes);
        });
      }),
      runs,
    );
  });
});

test("seconds never grant less than was asked for, and never wait longer", () => {
  fc.assert(
    fc.property(fc.double({ min: 0.001, max: 43_200_000, noNaN: true }), (ms) => {
      assert.ok(secondsUp(ms) * 1_000 >= ms && secondsUp(ms) * 1_000 <= ms + 1_000);
      assert.ok(secondsDown(ms) * 1_000 <= ms && Number.isInteger(secondsDown(ms)));
    }),
    runs,
  );
});

test("whatever the client throws, or an entry says, is one error of leasehold, and an outcome", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom("InvalidParameterValue", "RequestThrottled", "ECONNRESET", "expired"),
  );
  const known = fc.record(
    {
      name: fc.oneof(text, anything),
      message: fc.oneof(text, anything),
      Code: fc.oneof(text, anything),
      Message: fc.oneof(text, anything),
      code: fc.oneof(text, anything),
      $metadata: fc.oneof(fc.record({ httpStatusCode: fc.oneof(fc.nat(600), anything) }), anything),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(known, anything), (thrown) => {
      const error = fromSqs(thrown, "deleting");
      assert.ok(isLeaseholdError(error));
      assert.ok(error.message.startsWith("deleting"));
      assert.ok(["lost", "unconfirmed", "failed"].includes(outcomeOf(error).status));
    }),
    runs,
  );
});
