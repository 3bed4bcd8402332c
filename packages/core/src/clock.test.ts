import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTime } from "./clock.ts";

test("times are formatted as Date does it, within a day, across days and at the ends of what a date can be", () => {
  const day = 86_400_000;
  const start = 1_769_860_800_000;
  const times = [
    0,
    1,
    -1,
    start,
    start - 1,
    start + day - 1,
    start + day,
    253_402_300_799_999,
    253_402_300_800_000,
    -62_167_219_200_001,
    8.64e15,
  ];
  for (let step = 0; step < 5_000; step++) times.push(start + step * 43_201.7, start - step * 3_600_001.3);
  for (const ms of times) assert.equal(formatTime(ms), new Date(ms).toISOString(), String(ms));
});

test("what is no time throws, and leaves the next one right", () => {
  for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1]) assert.throws(() => formatTime(ms), RangeError);
  assert.equal(formatTime(0), "1970-01-01T00:00:00.000Z");
});
