import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { it } from "node:test";

const packageFolder = dirname(import.meta.dirname);

it("the example of the README prints what it says", (test) => {
  const page = readFileSync(join(packageFolder, "README.md"), "utf8");
  const match = /```ts\n(.+?)```\n\nIt prints `(.+)`\./s.exec(page);
  assert.ok(match, "the README has an example and its output");
  const folder = mkdtempSync(join(tmpdir(), "leasehold-readme-"));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "node_modules/@leasehold"), { recursive: true });
  symlinkSync(packageFolder, join(folder, "node_modules/@leasehold/emulators"), "junction");
  symlinkSync(join(packageFolder, "node_modules/@aws-sdk"), join(folder, "node_modules/@aws-sdk"), "junction");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  writeFileSync(join(folder, "example.ts"), match[1] ?? "");
  const { stdout, stderr } = spawnSync(process.execPath, ["example.ts"], { cwd: folder, encoding: "utf8" });
  assert.equal(stdout.trim(), match[2], stderr);
});
