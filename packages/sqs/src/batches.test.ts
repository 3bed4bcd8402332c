import assert from "node:assert/strict";
import { test } from "node:test";
import { chunksOf, eachOrRefused } from "./batches.ts";
import { bytesOf, type SendEntry } from "./messages.ts";

const entry = (bytes: number): SendEntry => ({ MessageBody: "x".repeat(bytes) });
const sizes = (chunks: readonly (readonly SendEntry[])[]): number[][] => chunks.map((chunk) => chunk.map(bytesOf));

test("chunks keep the order and never exceed the bytes of a call", () => {
  assert.deepEqual(sizes(chunksOf([], 100)), []);
  assert.deepEqual(sizes(chunksOf([entry(50), entry(50)], 100)), [[50, 50]]);
  assert.deepEqual(sizes(chunksOf([entry(50), entry(51)], 100)), [[50], [51]]);
  assert.deepEqual(sizes(chunksOf([entry(60), entry(30), entry(20), entry(90), entry(10)], 100)), [
    [60, 30],
    [20],
    [90, 10],
  ]);
});

test("a message that is too large for any call goes alone", () => {
  assert.deepEqual(sizes(chunksOf([entry(10), entry(101), entry(10), entry(10)], 100)), [[10], [101], [10, 10]]);
});

test("what is refused beforehand costs no call, and each answer goes to its item", async () => {
  const calls: (readonly number[])[] = [];
  const answer = await eachOrRefused(
    [1, -2, 3, -4],
    (item) => (item < 0 ? "refused" : undefined),
    async (items) => {
      calls.push(items);
      return items.map((item) => `answer ${item}`);
    },
  );
  assert.deepEqual(answer, ["answer 1", "refused", "answer 3", "refused"]);
  assert.deepEqual(calls, [[1, 3]]);
  const none = await eachOrRefused(
    [-1],
    () => "refused",
    () => assert.fail("a call without items"),
  );
  assert.deepEqual(none, ["refused"]);
});
