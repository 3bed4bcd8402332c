import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { byteLength } from "../util/json.ts";
import {
  checkShardOf,
  isPayloadKey,
  payloadKey,
  resultKey,
  sharedKeyKey,
  statusPartitions,
  statusShardOf,
  taskIdOf,
  taskKey,
} from "./keys.ts";

const runs = { numRuns: 500, seed: 1 };
const anything = fc.string({ unit: "binary", maxLength: 400 });
/** Two that are near each other: what an escape could fold into one. */
const near = fc
  .tuple(anything, fc.constantFrom("#", "%", "~", "%0023", "\u0000", "\ud800", "", "a"), anything)
  .map((parts) => parts.join(""));
const MAX_KEY_BYTES = 1_024;

describe("keys of items", () => {
  test("of any two different parts are two, and neither kind can be taken for another", () => {
    fc.assert(
      fc.property(fc.tuple(near, near), fc.tuple(near, near), (one, other) => {
        fc.pre(one[0] !== other[0] || one[1] !== other[1]);
        assert.notEqual(sharedKeyKey(...one), sharedKeyKey(...other));
        assert.notEqual(payloadKey(...one), payloadKey(...other));
      }),
      runs,
    );
    fc.assert(
      fc.property(near, near, (one, other) => {
        const kinds = [taskKey(one), payloadKey(one, other), resultKey(one, 1), sharedKeyKey(one, other)];
        assert.equal(new Set(kinds).size, kinds.length);
      }),
      runs,
    );
  });

  test("fit into every database: short, well-formed, without control characters", () => {
    fc.assert(
      fc.property(near, near, fc.nat(), (one, other, fence) => {
        for (const key of [taskKey(one), payloadKey(one, other), resultKey(one, fence), sharedKeyKey(one, other)]) {
          assert.ok(key.isWellFormed() && byteLength(key) <= MAX_KEY_BYTES);
          assert.doesNotMatch(key, /\p{Cc}/u);
        }
      }),
      runs,
    );
  });

  test("give the task id back, and know whose payload they are", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), near, near, (taskId, hash, other) => {
        assert.equal(taskIdOf(taskKey(taskId)), taskId);
        assert.ok(isPayloadKey(payloadKey(taskId, hash), taskId));
        fc.pre(other !== taskId);
        assert.ok(!isPayloadKey(payloadKey(other, hash), taskId));
      }),
      runs,
    );
  });

  test("put every task into a partition that somebody reads", () => {
    fc.assert(
      fc.property(anything, anything, (queue, taskId) => {
        assert.ok(statusPartitions("queued").includes(statusShardOf("queued", taskId)));
        assert.ok(checkShardOf(queue, "waiting", taskId).startsWith(`${queue}#w`));
      }),
      runs,
    );
  });
});
