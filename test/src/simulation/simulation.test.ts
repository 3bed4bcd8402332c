import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "./run.ts";
import { shrink } from "./shrink.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

test("a seed gives the same run each time", async () => {
  for (const seed of SEEDS) {
    const first = await simulate(seed, { keepsLog: true });
    const second = await simulate(seed);
    assert.equal(second.hash, first.hash, `seed ${seed}`);
    assert.deepEqual(second.fired, first.fired);
    assert.ok(first.lines.length > 10, `seed ${seed} has ${first.lines.length} events`);
  }
});

test("another seed gives another run", async () => {
  const hashes = new Set<number>();
  for (const seed of SEEDS) hashes.add((await simulate(seed)).hash);
  assert.equal(hashes.size, SEEDS.length);
});

test("a fault that is left out does not happen, and what came before it stays", async () => {
  const whole = await simulate(1, { keepsLog: true });
  const left = whole.fired[3];
  assert.ok(left !== undefined);
  const without = await simulate(1, { without: new Set([left.id]), keepsLog: true });
  assert.ok(!without.fired.some(({ id }) => id === left.id));
  assert.deepEqual(without.fired.slice(0, 3), whole.fired.slice(0, 3));
  const before = (lines: readonly string[]) => lines.filter((line) => Number(line.split(" ")[0]) < left.atMs);
  assert.deepEqual(before(without.lines), before(whole.lines));
});

test("a failure is shrunk to the fault that it takes", async () => {
  const run = await simulate(1);
  const { kind } = run.fired.at(-1) as (typeof run.fired)[number];
  const shrunk = await shrink(run, ({ fired }) => fired.some((fault) => fault.kind === kind));
  assert.deepEqual(
    shrunk.fired.map((fault) => fault.kind),
    [kind],
  );
  assert.ok(shrunk.lines.length > 0);
});
