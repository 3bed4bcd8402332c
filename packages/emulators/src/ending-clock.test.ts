import assert from "node:assert/strict";
import { it } from "node:test";
import { createEndingClock } from "./ending-clock.ts";
import { createHandClock } from "./hand-clock.ts";

it("timers go off until the clock ends, and none after that", () => {
  const hand = createHandClock();
  const clock = createEndingClock(hand);
  const rung: string[] = [];
  const set = (name: string) => clock.setTimer(10, () => rung.push(name));
  set("first");
  set("cancelled").cancel();
  hand.advance(10);
  set("too late");
  clock.end();
  set("after the end").cancel();
  hand.advance(100);
  assert.deepEqual(rung, ["first"]);
  assert.equal(clock.now(), hand.now());
});
