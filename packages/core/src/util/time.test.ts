import assert from "node:assert/strict";
import { test } from "node:test";
import { isLeaseholdError } from "../errors.ts";
import { momentMs, parseRfc3339 } from "./time.ts";

const NOON = Date.UTC(2026, 0, 31, 12, 0, 0);

test("RFC 3339 in all its spellings", () => {
  const spellings: readonly [string, number][] = [
    ["2026-01-31T12:00:00Z", NOON],
    ["2026-01-31t12:00:00z", NOON],
    ["2026-01-31T12:00:00.5Z", NOON + 500],
    ["2026-01-31T12:00:00.123456789Z", NOON + 123],
    ["2026-01-31T14:30:00+02:30", NOON],
    ["2026-01-31T12:00:00-00:00", NOON],
    ["2026-01-30T23:00:00-13:00", NOON],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["2000-02-29T00:00:00Z", Date.UTC(2000, 1, 29)],
    ["2016-12-31T23:59:60Z", Date.UTC(2017, 0, 1)],
    ["1970-01-01T00:00:00Z", 0],
    ["9998-12-31T23:59:59Z", Date.UTC(9998, 11, 31, 23, 59, 59)],
  ];
  for (const [text, ms] of spellings) assert.equal(parseRfc3339(text), ms, text);
});

test("days are where the calendar has them: a whole cycle of 400 years, and samples up to 9998", () => {
  const day = 86_400_000;
  for (let ms = 0; ms < Date.UTC(9999, 0, 1); ms += ms < Date.UTC(2370, 0, 1) ? day : 97 * day) {
    const text = new Date(ms).toISOString();
    if (parseRfc3339(text) !== ms) assert.fail(text);
  }
});

test("what is no RFC 3339 time, or none that can be stored, is refused", () => {
  const refused = [
    "",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-01-31 12:00:00Z",
    "2026-01-31T12:00Z",
    "31 Jan 2026 12:00:00 GMT",
    "2026-1-31T12:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T12:60:00Z",
    "2026-01-31T12:00:61Z",
    "2026-01-31T12:00:00+24:00",
    "2026-01-31T12:00:00+01:60",
    "2026-01-31T12:00:00.Z",
    " 2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00Z\n",
    "+010000-01-01T00:00:00Z",
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:30:00+01:00",
    "9999-01-01T00:00:00Z",
    "1",
    "NaN",
  ];
  for (const text of refused) assert.equal(parseRfc3339(text), undefined, JSON.stringify(text));
});

test("a moment is a Date or text; anything else is refused by name", () => {
  assert.equal(momentMs(new Date(NOON), "notBefore"), NOON);
  assert.equal(momentMs("2026-01-31T12:00:00Z", "notBefore"), NOON);
  for (const value of [NOON, null, {}, [], "tomorrow", new Date(Number.NaN), new Date(8.64e15), new Date(-1)]) {
    assert.throws(
      () => momentMs(value as Date, "notBefore"),
      (error) =>
        isLeaseholdError(error, "InvalidArgument") &&
        /^notBefore: got .+, expected a Date or RFC 3339/.test(error.message),
    );
  }
});
