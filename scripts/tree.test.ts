import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { treeProblems } from "./tree.ts";

// Joined here, so that this file passes the check itself.
const host = ["registry", "npmjs", "org"].join(".");
const path = ["", "work", "main"].join("/");
const mark = ["TO", "DO"].join("");

const problemsOf = (text: string, file = "a.ts") => treeProblems(file, text).length;

describe("treeProblems", () => {
  it("passes an ordinary file of 500 lines", () => {
    assert.equal(problemsOf("const a = 1;\n".repeat(500)), 0);
  });

  it("finds a file that is too long, unless a tool wrote it", () => {
    assert.equal(problemsOf("\n".repeat(501)), 1);
    assert.equal(problemsOf("\n".repeat(501), "packages/core/CHANGELOG.md"), 0);
    assert.equal(problemsOf("\n".repeat(501), "pnpm-lock.yaml"), 0);
  });

  it("finds the host of a package registry, in generated files too", () => {
    assert.equal(problemsOf(`tarball: https://${host}/zod/-/zod-4.6.7.tgz`, "pnpm-lock.yaml"), 1);
  });

  it("finds a path of one machine, and not an address or a relative path", () => {
    assert.equal(problemsOf(`see ${path}/a.ts`), 1);
    assert.equal(problemsOf(`"${path}/a.ts"`), 1);
    assert.equal(problemsOf(`https://example.com${path} and .${path}`), 0);
  });

  it("wants the issue beside a to-do", () => {
    assert.equal(problemsOf(`// ${mark}: later`), 1);
    assert.equal(problemsOf(`// ${mark}(#12): later`), 0);
  });

  it("says where", () => {
    assert.match(treeProblems("a.ts", `one\n// ${mark}\n`)[0] ?? "", /^a\.ts:2: /);
  });

  it("leaves binary files alone", () => {
    assert.equal(problemsOf(`\0${path}/`), 0);
  });
});
