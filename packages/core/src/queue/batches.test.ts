import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { chunksOf, eachOrRefused, settleByVerb } from "./batches.ts";
import type { Delivery, Outcome, SettleItem } from "./driver.ts";

const itself = (size: number): number => size;

test("chunks keep the order, hold no more than a call takes unless one item alone is larger, and are as few as order allows", () => {
  const sizes = fc.array(fc.nat(300), { maxLength: 20 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 400 }), (items, maxBytes) => {
      const chunks = chunksOf(items, itself, maxBytes);
      const bytesOf = (chunk: readonly number[]): number => chunk.reduce((sum, size) => sum + size, 0);
      assert.deepEqual(chunks.flat(), items);
      for (const chunk of chunks) assert.ok(chunk.length === 1 || (chunk.length > 1 && bytesOf(chunk) <= maxBytes));
      chunks.slice(1).forEach((chunk, index) => {
        assert.ok(bytesOf(chunks[index] as readonly number[]) + (chunk[0] as number) > maxBytes);
      });
    }),
    { numRuns: 500, seed: 1 },
  );
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

test("each verb of a batch is settled by itself, and answered at its place", async () => {
  const delivery = (token: string): Delivery => ({ token, messageId: token, body: "", attributes: {}, leaseMs: 1 });
  const items: readonly SettleItem[] = [
    { verb: "abandon", delivery: delivery("a"), delayMs: 0, copyId: "a" },
    { verb: "complete", delivery: delivery("b") },
    { verb: "dead-letter", delivery: delivery("c"), reason: { code: "x", text: "" }, copyId: "c" },
    { verb: "complete", delivery: delivery("d") },
  ];
  const seen: string[][] = [];
  const all =
    (outcome: Outcome) =>
    async (of: readonly SettleItem[]): Promise<readonly Outcome[]> => {
      seen.push(of.map((item) => item.delivery.token));
      return of.map(() => outcome);
    };
  const outcomes = await settleByVerb(items, {
    complete: all({ status: "confirmed" }),
    abandon: all({ status: "lost" }),
    "dead-letter": all({ status: "unconfirmed" }),
  });
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["lost", "confirmed", "unconfirmed", "confirmed"],
  );
  assert.deepEqual(seen, [["b", "d"], ["a"], ["c"]]);
});
