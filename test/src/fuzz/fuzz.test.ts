import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fuzzEnvelope } from "./envelope.ts";
import { fronts } from "./fronts.ts";
import { fuzzFront } from "./fuzz.ts";

/** Enough for every kind of change on every part of a conversation; `pnpm fuzz` throws more. */
const INPUTS = 400;

describe("nonsense thrown at a server neither ends it nor stays in it", () => {
  for (const name of Object.keys(fronts)) {
    test(name, async () => {
      const { half, end } = await fuzzFront(name, INPUTS, 1);
      // A connection that was left open would be there once for each input.
      assert.ok(end.handles - half.handles < INPUTS / 20, `${half.handles} handles, then ${end.handles}`);
    });
  }
});

test("nonsense read as an event is an event, or is refused with a reason", () => {
  const { read, refused } = fuzzEnvelope(5_000, 1);
  assert.ok(read > 0 && refused > 0);
});
