import assert from "node:assert/strict";
import { test } from "node:test";
import { createTimeline } from "@leasehold/core/memory";
import { createSkewMeter } from "./skew.ts";

const START_MS = Date.parse("2026-03-01T12:00:00.000Z");

/** A meter on a clock that stands at the start, and the header of an answer of a database that is `aheadMs` ahead of it. */
function setup() {
  const clock = { ...createTimeline().clock(), now: () => START_MS };
  const header = (aheadMs: number): string => new Date(START_MS + aheadMs).toUTCString();
  return { meter: createSkewMeter(clock), header };
}

test("three answers running are needed", () => {
  const { meter, header } = setup();
  meter.answered(header(5_000), 0);
  meter.answered(header(5_000), 0);
  assert.equal(meter.offsetMs(), 0);
  meter.answered(header(5_000), 0);
  assert.equal(meter.offsetMs(), -4_000);
});

test("one answer in step ends it, three more begin it", () => {
  const { meter, header } = setup();
  for (let count = 0; count < 3; count++) meter.answered(header(-5_000), 0);
  assert.equal(meter.offsetMs(), 4_000);
  meter.answered(header(0), 0);
  assert.equal(meter.offsetMs(), 0);
  for (let count = 0; count < 2; count++) meter.answered(header(-5_000), 0);
  assert.equal(meter.offsetMs(), 0);
});

test("the least of the three counts", () => {
  const { meter, header } = setup();
  for (const aheadMs of [9_000, 3_000, 60_000]) meter.answered(header(aheadMs), 0);
  assert.equal(meter.offsetMs(), -2_000);
});

test("what a slow answer may hide is taken off", () => {
  const { meter, header } = setup();
  // It came 4 s after it was sent: the database may have written its time at any moment in between.
  for (let count = 0; count < 3; count++) meter.answered(header(-2_000), 4_000);
  assert.equal(meter.offsetMs(), 0);
  for (let count = 0; count < 3; count++) meter.answered(header(-10_000), 4_000);
  assert.equal(meter.offsetMs(), 5_000);
});

test("answers without a date say nothing", () => {
  const { meter, header } = setup();
  for (const date of [header(5_000), undefined, header(5_000), "no date", header(5_000)]) meter.answered(date, 0);
  assert.equal(meter.offsetMs(), -4_000);
});
