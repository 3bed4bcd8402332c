import assert from "node:assert/strict";
import { test } from "node:test";
import { byteLength } from "./json.ts";
import { isVague, MAX_REASON_BYTES, storedReason } from "./reason.ts";

const VAGUE = [
  "still running",
  "heartbeat",
  "processing",
  "Still Running...",
  "  STILL   running!! ",
  "still-running",
  "processing…",
  "Processing, please wait",
  "working on it",
  "in progress",
  "busy",
  "",
  "   ",
  "...",
  "!?",
  "🤖🤖",
  "heartbeat 17",
  "heart beat #4",
  "running for 30 seconds",
  "waiting 10m",
  "ｐｒｏｃｅｓｓｉｎｇ",
  "I'm still working on the task",
  "almost done",
  "x",
  "zzz",
  "42",
  "keep-alive",
  "step 3",
];

const SPECIFIC = [
  "downloaded 18 of 24 source documents",
  "waiting for model batch result",
  "committed draft, verifying readback",
  "index rebuild 72 percent complete",
  "processing 500 rows",
  "18/24",
  "72 %",
  "still running migration 0042_add_index",
  "waiting for approval by the legal team",
  "warte auf Antwort des Modells",
  "下载文档",
  "uploading",
];

test("a reason that any hanging worker could give is vague", () => {
  for (const reason of VAGUE) assert.equal(isVague(reason), true, JSON.stringify(reason));
});

test("a reason that names what it is about is specific", () => {
  for (const reason of SPECIFIC) assert.equal(isVague(reason), false, JSON.stringify(reason));
});

test("case, punctuation and white space decide nothing", () => {
  for (const reason of [...VAGUE, ...SPECIFIC]) {
    assert.equal(isVague(` ${reason.toUpperCase()} .`), isVague(reason), JSON.stringify(reason));
  }
});

test("a stored reason is one line of at most 120 bytes, cut between characters", () => {
  assert.equal(storedReason(" downloaded\n18\tof 24 \u0000"), "downloaded 18 of 24");
  for (const character of ["a", "ä", "文", "🤖"]) {
    for (let length = 20; length < 130; length++) {
      const stored = storedReason(character.repeat(length));
      assert.ok(byteLength(stored) <= MAX_REASON_BYTES, `${length} x ${character}`);
      assert.ok(!stored.includes("\uFFFD"), `${length} x ${character}`);
      if (byteLength(character.repeat(length)) <= MAX_REASON_BYTES) assert.equal(stored, character.repeat(length));
      else assert.ok(stored.endsWith("…"));
    }
  }
});
