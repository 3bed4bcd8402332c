import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { endingWith } from "./ending.ts";

test("the first of several signals ends it, also one that has ended before", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const ending = endingWith(one.signal, undefined, other.signal);
  assert.equal(ending.signal.aborted, false);
  other.abort();
  assert.equal(ending.signal.aborted, true);
  assert.equal(endingWith(other.signal).signal.aborted, true);
});

test("once let go, nothing of it is left at the signals, and they end nothing", () => {
  const source = new AbortController();
  const ending = endingWith(source.signal);
  ending.release();
  assert.equal(getEventListeners(source.signal, "abort").length, 0);
  source.abort();
  assert.equal(ending.signal.aborted, false);
});
