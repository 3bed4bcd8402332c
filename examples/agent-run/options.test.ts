import assert from "node:assert/strict";
import { test } from "node:test";
import { readOptions } from "./options.ts";

function problemsOf(...parameters: readonly string[]): readonly string[] {
  const read = readOptions(parameters, import.meta.dirname);
  return read.ok ? [] : read.problems;
}

test("without parameters it is the run that comes with the demo, on the memory provider", () => {
  const read = readOptions([], "/");
  assert.ok(read.ok);
  assert.deepEqual(
    read.options.providers.map(({ name }) => name),
    ["memory"],
  );
  assert.equal(read.options.plain, false);
  assert.equal(read.options.seed, 1);
  assert.ok(read.options.calls.length >= 24);
});

test("a path means the folder that the command was typed in", () => {
  const read = readOptions(["--tasks", "tasks.jsonl", "--plain", "--seed", "12"], import.meta.dirname);
  assert.ok(read.ok);
  assert.equal(read.options.plain, true);
  assert.equal(read.options.seed, 12);
});

test("what cannot be is refused with what can", () => {
  assert.deepEqual(problemsOf("--provider", "fax"), [
    '--provider: got "fax", expected one that exists: memory, sqs, pubsub, servicebus, all',
  ]);
  assert.deepEqual(problemsOf("--seed", "1.5"), ['--seed: got "1.5", expected a whole number from 0 up']);
  assert.deepEqual(problemsOf("--seed", ""), ['--seed: got "", expected a whole number from 0 up']);
  assert.match(problemsOf("--nope")[0] ?? "", /usage: demo \[--tasks FILE\]/);
  assert.match(
    problemsOf("--tasks", "none.jsonl")[0] ?? "",
    /^--tasks: none\.jsonl cannot be read \(ENOENT\), expected a file of JSON Lines/,
  );
});
