import assert from "node:assert/strict";
import { test } from "node:test";
import { isLeaseholdError } from "@leasehold/core/driver";
import fc from "fast-check";
import { secondsDown, secondsUp } from "./capabilities.ts";
import { fromSqs, outcomeOf } from "./errors.ts";

const runs = { numRuns: 500, seed: 1 };
const anything = fc.anything({ withNullPrototype: true, withDate: true, withBigInt: true });

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
