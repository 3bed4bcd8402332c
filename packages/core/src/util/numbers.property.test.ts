import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { clampTimerMs, formatTime, MAX_TIMER_MS, parseTime } from "../clock.ts";
import { ERROR_CODES, fromUnknown, isLeaseholdError, verdictOf } from "../errors.ts";
import { refusedDelay, refusedLease, refusedMessage } from "../queue/checks.ts";
import { outcomesOf } from "../queue/outcomes.ts";
import { durationMs } from "./duration.ts";
import { backoffMs } from "./retry.ts";
import { parseRfc3339 } from "./time.ts";

const runs = { numRuns: 1_000, seed: 1 };
const number = fc.oneof(
  fc.double(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 2 ** 31, 2 ** 53),
);
const limits = {
  maxBatch: 10,
  maxLeaseMs: 600_000,
  maxSendDelayMs: 900_000,
  maxAbandonDelayMs: 600_000,
  maxMessageBytes: 262_144,
  ordering: true,
};

describe("any number", () => {
  test("as a delay of a timer is one that Node keeps (JS-01)", () => {
    fc.assert(
      fc.property(number, (delayMs) => {
        const clamped = clampTimerMs(delayMs);
        assert.ok(clamped >= 0 && clamped <= MAX_TIMER_MS);
        if (delayMs >= 0 && delayMs <= MAX_TIMER_MS) assert.ok(clamped === delayMs);
      }),
      runs,
    );
  });

  test("as a delay or lease of a delivery is in the limits, or refused with the limit", () => {
    fc.assert(
      fc.property(number, (ms) => {
        const inRange = ms >= 0 && ms <= limits.maxAbandonDelayMs;
        assert.equal(refusedDelay(ms, limits) === undefined, inRange);
        assert.equal(refusedLease(ms, limits) === undefined, ms > 0 && ms <= limits.maxLeaseMs);
        const message = { id: "a", body: "{}", contentType: "application/json", delayMs: ms };
        assert.equal(refusedMessage(message, limits) === undefined, ms >= 0 && ms <= limits.maxSendDelayMs);
      }),
      runs,
    );
  });

  test("as a duration is itself when it is a time, else refused", () => {
    fc.assert(
      fc.property(number, (ms) => {
        if (Number.isFinite(ms) && ms >= 0) assert.equal(durationMs(ms, "field"), ms);
        else assert.throws(() => durationMs(ms, "field"), { code: "InvalidArgument" });
      }),
      runs,
    );
  });
});

test("a back-off of any attempt lies between a quarter of its ceiling and the cap", () => {
  const base = fc.integer({ min: 1, max: 60_000 });
  fc.assert(
    fc.property(
      fc.nat(),
      base,
      fc.integer({ min: 1, max: 600_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, baseMs, capMs, share) => {
        const ms = backoffMs(attempt, baseMs, capMs, { random: () => share, token: () => "", uuid: () => "" } as never);
        assert.ok(ms >= Math.min(capMs, baseMs) / 4 && ms <= capMs, `${ms}`);
      },
    ),
    runs,
  );
});

test("a stored time sorts as its text, and is read as it was written", () => {
  const ms = fc.integer({ min: 0, max: 253_370_764_799_999 });
  fc.assert(
    fc.property(ms, ms, (one, other) => {
      assert.equal(parseTime(formatTime(one)), one);
      assert.equal(parseRfc3339(formatTime(one)), one);
      assert.equal(formatTime(one) < formatTime(other), one < other);
    }),
    runs,
  );
});

describe("anything that is thrown", () => {
  const thrown = fc.anything({ withNullPrototype: true, withMap: true, withDate: true, withBigInt: true });

  test("becomes one error of leasehold with one of its codes, and keeps its cause", () => {
    fc.assert(
      fc.property(thrown, (value) => {
        const error = fromUnknown(value, "the call");
        assert.ok(isLeaseholdError(error) && ERROR_CODES.includes(error.code));
        assert.ok(error.message.startsWith("the call failed"));
        assert.equal(verdictOf(value), undefined);
      }),
      runs,
    );
  });

  test("by a driver, or answered by it instead of outcomes, is a failure of each item", async () => {
    await fc.assert(
      fc.asyncProperty(thrown, fc.nat(12), fc.boolean(), async (value, items, throws) => {
        const outcomes = await outcomesOf(
          async () => {
            if (throws) throw value;
            return value as never;
          },
          items,
          "settling",
        );
        assert.equal(outcomes.length, items);
        for (const outcome of outcomes) {
          assert.ok(["confirmed", "unconfirmed", "lost", "failed"].includes(outcome.status));
          if (outcome.status === "failed") assert.ok(ERROR_CODES.includes(outcome.code));
        }
      }),
      runs,
    );
  });
});
