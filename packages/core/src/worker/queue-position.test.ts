import assert from "node:assert/strict";
import { test } from "node:test";
import { createTimeline } from "../memory/fake-clock.ts";
import type { Delivery } from "../queue/driver.ts";
import { createQueuePosition } from "./queue-position.ts";

const MARGIN_MS = 300_000;
const OLD = 1_000_000;
const FRESH = OLD + 3_600_000;

const position = () => createQueuePosition(createTimeline().clock());
const deliveryOf = (sentAt: number, more: Partial<Delivery> = {}): Delivery => ({
  token: "t",
  messageId: "m",
  body: "",
  attributes: {},
  leaseMs: 60_000,
  sentAt,
  ...more,
});
const many = (count: number, sentAt: number, more: Partial<Delivery> = {}): readonly Delivery[] =>
  Array.from({ length: count }, () => deliveryOf(sentAt, more));

test("one message that comes ahead of a backlog does not say that the backlog was passed", () => {
  const queue = position();
  queue.received(many(10, OLD));
  queue.received([deliveryOf(FRESH)]);
  assert.equal(queue.movedPast(OLD, MARGIN_MS), false);
  queue.received(many(7, OLD + 1_000));
  queue.received(many(7, FRESH));
  assert.equal(queue.movedPast(OLD, MARGIN_MS), true, "half of the last ones do");
  assert.equal(queue.movedPast(FRESH - MARGIN_MS, MARGIN_MS), false, "later by no more than the margin");
});

test("after a start three later messages are needed", () => {
  const queue = position();
  for (const expected of [false, false, true]) {
    queue.received([deliveryOf(FRESH)]);
    assert.equal(queue.movedPast(OLD, MARGIN_MS), expected);
  }
});

test("messages that come again say nothing, nor do those without a time", () => {
  const queue = position();
  const { sentAt: _, ...timeless } = deliveryOf(0);
  queue.received(many(16, OLD, { deliveryCount: 2 }));
  queue.received(Array.from({ length: 16 }, () => timeless));
  queue.received(many(3, FRESH, { deliveryCount: 1 }));
  assert.equal(queue.movedPast(OLD, MARGIN_MS), true);
});

test("old messages that come after fresh ones bring the position back", () => {
  const queue = position();
  queue.received(many(16, FRESH));
  assert.equal(queue.movedPast(OLD, MARGIN_MS), true);
  queue.received(many(9, OLD));
  assert.equal(queue.movedPast(OLD, MARGIN_MS), false);
});

test("in an ordering key one later message says it", () => {
  const queue = position();
  queue.received([deliveryOf(FRESH, { orderingKey: "k" })]);
  assert.equal(queue.movedPastInKey("k", OLD), true);
  assert.equal(queue.movedPastInKey("k", FRESH), false);
  assert.equal(queue.movedPastInKey("other", OLD), false);
});

test("two empty polls that waited, with nothing received between them, say that the queue is empty", async () => {
  const timeline = createTimeline();
  const queue = createQueuePosition(timeline.clock());
  const sentAt = timeline.now() - 1;
  queue.empty(20_000);
  queue.empty(4_999);
  assert.equal(queue.movedPast(sentAt, MARGIN_MS), false);
  queue.received([deliveryOf(sentAt)]);
  queue.empty(20_000);
  assert.equal(queue.movedPast(sentAt, MARGIN_MS), false);
  queue.empty(20_000);
  assert.equal(queue.movedPast(sentAt, MARGIN_MS), true);
  assert.equal(queue.movedPast(timeline.now(), MARGIN_MS), false, "not past what was sent after the poll");
  queue.counted(1);
  assert.equal(queue.movedPast(sentAt, MARGIN_MS), false, "the broker's own count must agree");
});
