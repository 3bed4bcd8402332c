import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

const packageFolder = dirname(import.meta.dirname);
const page = readFileSync(join(packageFolder, "README.md"), "utf8");
const examples = [...page.matchAll(/```ts\n((?:(?!```).)+)```\n\nIt prints `([^`]+)`\./gs)];

describe("the examples of the README print what it says", () => {
  it("has them", () => assert.equal(examples.length, page.match(/```ts\n/g)?.length));

  for (const [, code = "", output = ""] of examples) {
    it(output, (test) => {
      const folder = mkdtempSync(join(tmpdir(), "leasehold-readme-"));
      test.after(() => rmSync(folder, { recursive: true, force: true }));
      mkdirSync(join(folder, "node_modules/@leasehold"), { recursive: true });
      symlinkSync(packageFolder, join(folder, "node_modules/@leasehold/emulators"), "junction");
      for (const scope of ["@aws-sdk", "@azure", "@google-cloud"]) {
        symlinkSync(join(packageFolder, "node_modules", scope), join(folder, "node_modules", scope), "junction");
      }
      writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
      writeFileSync(join(folder, "example.ts"), code);
      const env = { ...process.env, METADATA_SERVER_DETECTION: "none" };
      const { stdout, stderr } = spawnSync(process.execPath, ["example.ts"], { cwd: folder, encoding: "utf8", env });
      assert.equal(stdout.trim(), output, stderr);
    });
  }
});
