import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inputs } from "./handlers.ts";
import { parseTaskFile } from "./task-file.ts";

const post = { key: "post", type: "publish_post", input: { draft: "drafts/a", title: "A" } };
const message = { key: "message", type: "send_message", input: { channel: "#docs", text: "Hello" } };

function problemsIn(...lines: readonly unknown[]): readonly string[] {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  const file = parseTaskFile("run.jsonl", text, inputs);
  return file.ok ? [] : file.problems;
}

test("the run that comes with the demo is well-formed and long enough", () => {
  const file = parseTaskFile("tasks.jsonl", readFileSync(new URL("./tasks.jsonl", import.meta.url), "utf8"), inputs);
  assert.ok(file.ok);
  assert.ok(file.calls.length >= 24, `${file.calls.length} calls`);
  assert.deepEqual([...new Set(file.calls.map((call) => call.type))].sort(), [
    "open_issue",
    "publish_post",
    "send_message",
  ]);
});

test("calls come in the order of the file; empty lines and foreign line ends do not matter", () => {
  const file = parseTaskFile("run.jsonl", `${JSON.stringify(post)}\r\n\r\n${JSON.stringify(message)}\r\n`, inputs);
  assert.deepEqual(file, { ok: true, calls: [post, message] });
});

test("each problem names file, line and field, what was there and what was expected", () => {
  assert.deepEqual(problemsIn(post, { ...message, input: { channel: "#docs", text: 7 } }), [
    "run.jsonl:2: input.text: got a number, expected text",
  ]);
  assert.deepEqual(problemsIn({ ...message, input: { channel: "docs", text: "Hello" } }), [
    "run.jsonl:1: input.channel: got text; expected a channel such as #releases",
  ]);
  assert.deepEqual(problemsIn({ key: "post", type: "publish_post" }), [
    "run.jsonl:1: input: got nothing, expected an object",
  ]);
  assert.deepEqual(problemsIn({ ...post, key: " " }), [
    "run.jsonl:1: key: got empty text, expected text that names this call",
  ]);
  assert.deepEqual(problemsIn({ ...post, type: "send_mail" }), [
    'run.jsonl:1: type: got "send_mail", expected one of publish_post, open_issue, send_message',
  ]);
  assert.deepEqual(problemsIn({ ...post, kye: "x" }), [
    "run.jsonl:1: kye: expected no such field; there are key, type, input",
  ]);
  assert.match(problemsIn(post, "{")[0] ?? "", /^run\.jsonl:2: not JSON \(.+\), expected one object on one line$/);
  assert.deepEqual(problemsIn("[1]"), ["run.jsonl:1: got a list, expected an object with key, type, input"]);
  assert.deepEqual(problemsIn(""), ["run.jsonl: no tasks, expected one object with key, type, input on each line"]);
});

test("a type named like a property of every object is no type", () => {
  assert.match(problemsIn({ ...post, type: "constructor" })[0] ?? "", /^run\.jsonl:1: type: got "constructor"/);
});

test("all problems are named at once, two calls with one key among them", () => {
  assert.deepEqual(problemsIn(post, "", { ...message, key: 1 }, { ...message, key: "post" }), [
    "run.jsonl:3: key: got a number, expected text that names this call",
    'run.jsonl:4: key: "post" is on line 1 too, expected a key of its own; two calls with one key are one task',
  ]);
});
