import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../clock.ts";
import { isLeaseholdError } from "../errors.ts";
import { createTimeline } from "./fake-clock.ts";

test("timers fire in order of their time, then of their making, each at its instant", async () => {
  const timeline = createTimeline({ startMs: 1_000 });
  const clock = timeline.clock();
  const events: string[] = [];
  const note = (name: string) => () => events.push(`${name} at ${clock.now()}`);
  clock.setTimer(20, note("b"));
  clock.setTimer(10, note("a"));
  clock.setTimer(20, note("c"));
  clock.setTimer(21, note("late"));
  await timeline.advance(20);
  assert.deepEqual(events, ["a at 1010", "b at 1020", "c at 1020"]);
  assert.equal(timeline.pendingTimers(), 1);
  assert.equal(timeline.now(), 1_020);
});

test("everything runnable has run before the next timer fires", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const events: string[] = [];
  const work = async (): Promise<void> => {
    for (let step = 0; step < 100; step++) await Promise.resolve();
    events.push("first has ended");
  };
  clock.setTimer(10, () => void work());
  clock.setTimer(10, () => events.push("second"));
  await timeline.advance(10);
  assert.deepEqual(events, ["first has ended", "second"]);
});

test("a timer that a timer sets fires within the same advance when its time has come", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const at: number[] = [];
  const again = (): void => {
    at.push(clock.monotonic());
    clock.setTimer(10, again);
  };
  clock.setTimer(10, again);
  await timeline.advance(35);
  assert.deepEqual(at, [10, 20, 30]);
});

test("runNext jumps to the next timer, and says when there is none", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const timer = clock.setTimer(5, () => assert.fail("was cancelled"));
  clock.setTimer(3_600_000, () => {});
  timer.cancel();
  assert.equal(await timeline.runNext(), true);
  assert.equal(clock.monotonic(), 3_600_000);
  assert.equal(await timeline.runNext(), false);
});

test("delays are clamped as the machine's clock does, and never early", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const fired: string[] = [];
  clock.setTimer(-5, () => fired.push("negative"));
  clock.setTimer(0.2, () => fired.push("fraction"));
  clock.setTimer(Number.NaN, () => fired.push("NaN"));
  await timeline.advance(0);
  assert.deepEqual(fired, ["negative"]);
  await timeline.advance(1);
  assert.deepEqual(fired, ["negative", "fraction"]);
  await timeline.advance(2_147_483_645);
  assert.equal(timeline.pendingTimers(), 1);
});

test("a process that stood still fires what it missed in one burst, in order", async () => {
  const timeline = createTimeline();
  const [still, other] = [timeline.clock(), timeline.clock()];
  const events: string[] = [];
  still.setTimer(20, () => events.push(`heartbeat at ${still.monotonic()}`));
  still.setTimer(10, () => events.push(`expiry at ${still.monotonic()}`));
  other.setTimer(15, () => events.push(`other at ${other.monotonic()}`));
  still.pause();
  await timeline.advance(100);
  assert.deepEqual(events, ["other at 15"]);
  assert.equal(timeline.pendingTimers(), 2);
  assert.equal(await timeline.runNext(), false);
  still.resume();
  await timeline.advance(0);
  assert.deepEqual(events, ["other at 15", "expiry at 100", "heartbeat at 100"]);
});

test("a timer of a process that stands still can be cancelled", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const timer = clock.setTimer(10, () => assert.fail("was cancelled"));
  clock.pause();
  await timeline.advance(20);
  timer.cancel();
  clock.resume();
  await timeline.advance(20);
  assert.equal(timeline.pendingTimers(), 0);
});

test("wall time may be off and may jump; monotonic time and timers do not notice", async () => {
  const timeline = createTimeline({ startMs: 1_000_000 });
  const clock = timeline.clock({ wallOffsetMs: -500 });
  let firedAt: number | undefined;
  clock.setTimer(100, () => {
    firedAt = clock.monotonic();
  });
  assert.equal(clock.now(), 999_500);
  clock.jumpWall(60_000);
  assert.equal(clock.now(), 1_059_500);
  await timeline.advance(100);
  assert.equal(firedAt, 100);
});

test("while the machine sleeps wall time goes on and monotonic time stands still, with the timers", async () => {
  const timeline = createTimeline({ startMs: 0 });
  const clock = timeline.clock();
  const fired: number[] = [];
  clock.setTimer(100, () => fired.push(clock.monotonic()));
  await timeline.advance(40);
  clock.suspendMonotonic(1_000);
  clock.setTimer(10, () => fired.push(clock.monotonic()));
  await timeline.advance(1_000);
  assert.equal(clock.now(), 1_040);
  assert.equal(clock.monotonic(), 40);
  assert.deepEqual(fired, []);
  await timeline.advance(60);
  assert.deepEqual(fired, [50, 100]);
  assert.equal(clock.monotonic(), 100);
});

test("a second sleep begins where the first ends", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  clock.suspendMonotonic(100);
  clock.suspendMonotonic(50);
  await timeline.advance(150);
  assert.equal(clock.monotonic(), 0);
  await timeline.advance(5);
  assert.equal(clock.monotonic(), 5);
});

test("a killed process keeps no timer and gets none", async () => {
  const timeline = createTimeline();
  const [dead, alive] = [timeline.clock(), timeline.clock()];
  let fired = 0;
  dead.setTimer(10, () => assert.fail("is dead"));
  alive.setTimer(10, () => fired++);
  dead.kill();
  dead.setTimer(10, () => assert.fail("is dead")).cancel();
  dead.setTimer(10, () => assert.fail("is dead"));
  assert.equal(timeline.pendingTimers(), 1);
  await timeline.advance(100);
  assert.equal(fired, 1);
});

test("until moves time as far as a promise needs", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  await timeline.until(sleep(clock, 10).then(() => sleep(clock, 90)));
  assert.equal(clock.monotonic(), 100);
  await assert.rejects(timeline.until(Promise.reject(new Error("mine"))), /mine/);
  await assert.rejects(timeline.until(new Promise(() => {})), (error) => isLeaseholdError(error, "Hung"));
});

test("only one hand moves time", async () => {
  const timeline = createTimeline();
  const first = timeline.advance(10);
  await assert.rejects(timeline.advance(10), (error) => isLeaseholdError(error, "Conflict"));
  await first;
  await timeline.advance(10);
});

test("settle lets immediates run and no time pass", async () => {
  const timeline = createTimeline();
  let ran = false;
  setImmediate(() => {
    ran = true;
  });
  await timeline.settle();
  assert.equal(ran, true);
  assert.equal(timeline.clock().monotonic(), 0);
});
