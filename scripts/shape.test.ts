import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ADAPTER_FILES, shapeProblems } from "./shape.ts";

const all = [...Object.keys(ADAPTER_FILES), "errors.test.ts"];

describe("shapeProblems", () => {
  it("finds nothing wrong with an adapter that has every file, and more", () => {
    assert.deepEqual(shapeProblems("packages/sqs", [...all, "names.ts"]), []);
  });

  it("names what is missing, and what it is for", () => {
    const some = all.filter((file) => file !== "errors.ts" && file !== "errors.test.ts");
    assert.deepEqual(shapeProblems("packages/sqs", some), [
      "packages/sqs/src/errors.ts is missing: the one door for errors",
      "packages/sqs/src/errors.test.ts is missing: each error as the SDK shows it",
    ]);
  });

  it("leaves packages alone that have no driver", () => {
    assert.deepEqual(shapeProblems("packages/core", ["index.ts"]), []);
  });
});
