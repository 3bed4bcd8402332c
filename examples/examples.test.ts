import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Runs an example as a newcomer would; one that fails rejects. Answers the lines that it printed. */
async function linesOf(file: string): Promise<readonly string[]> {
  const { stdout, stderr } = await run(process.execPath, [file], { cwd: import.meta.dirname });
  assert.equal(stderr, "");
  return stdout.trimEnd().split("\n");
}

test("quickstart", async () => {
  assert.deepEqual(await linesOf("quickstart.ts"), ["settled { words: 5 }"]);
});

test("human in the loop", async () => {
  assert.deepEqual(await linesOf("human-in-the-loop.ts"), [
    "parked parked: a refund of 900 for A-1042 needs approval",
    "settled { approvedBy: 'dana', refunded: 900 }",
  ]);
});

test("progress", async () => {
  const lines = await linesOf("progress.ts");
  assert.equal(lines.at(-1), "settled");
  assert.equal(lines.at(-2), "external_call: 8 of 8 source documents");
});
