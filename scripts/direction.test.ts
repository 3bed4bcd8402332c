import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { directionProblems, importsOf, manifestProblems } from "./direction.ts";

const problemsOf = (folder: string, specifier: string, name = "a.ts") =>
  directionProblems(folder, `${folder}/src/${name}`, `import { a } from "${specifier}";`).length;

describe("importsOf", () => {
  it("sees every form of import, over several lines too, and none in comments", () => {
    const source = [
      'import type { A } from "a";',
      'import {\n  b,\n} from "b";',
      'export { c } from "c";',
      'import "d";',
      'const e = await import("e");',
      ' * import { x } from "x";',
      '// import "y";',
    ].join("\n");
    assert.deepEqual(importsOf(source), ["a", "b", "c", "d", "e"]);
  });
});

describe("directionProblems", () => {
  it("lets an adapter reach core/driver alone, and core itself from tests", () => {
    assert.equal(problemsOf("packages/sqs", "@leasehold/core/driver"), 0);
    assert.equal(problemsOf("packages/sqs", "@aws-sdk/client-sqs"), 0);
    assert.equal(problemsOf("packages/sqs", "@leasehold/core"), 1);
    assert.equal(problemsOf("packages/sqs", "@leasehold/core/memory", "a.test.ts"), 0);
    for (const other of ["@leasehold/pubsub", "@leasehold/dynamodb", "@leasehold/conformance", "@leasehold/examples"]) {
      assert.equal(problemsOf("packages/sqs", other), 1, other);
      assert.equal(problemsOf("packages/sqs", other, "a.test.ts"), 1, other);
    }
  });

  it("lets core and the emulators reach no other package", () => {
    for (const folder of ["packages/core", "packages/emulators"]) {
      assert.equal(problemsOf(folder, "zod"), 0);
      assert.equal(problemsOf(folder, "@leasehold/sqs"), 1);
      assert.equal(problemsOf(folder, "@leasehold/conformance", "a.test.ts"), 1);
    }
  });

  it("lets the tests reach every package, and not the examples", () => {
    assert.equal(problemsOf("test", "@leasehold/sqs"), 0);
    assert.equal(problemsOf("test", "@leasehold/examples"), 1);
  });

  it("keeps relative imports inside their package", () => {
    assert.equal(problemsOf("packages/sqs", "./errors.ts"), 0);
    assert.equal(problemsOf("packages/sqs", "../../core/src/index.ts"), 1);
    assert.equal(problemsOf("packages/sqs", "../package.json"), 1);
    assert.equal(problemsOf("test", "../../packages/core/src/index.ts"), 1);
  });
});

describe("manifestProblems", () => {
  it("finds adapters in the manifest of core, and of one another", () => {
    const manifest = { name: "x", dependencies: { "@leasehold/core": "workspace:*" } };
    assert.equal(manifestProblems("packages/core", manifest).length, 1);
    assert.equal(manifestProblems("packages/sqs", manifest).length, 0);
    const sibling = { name: "x", optionalDependencies: { "@leasehold/dynamodb": "workspace:*" } };
    assert.equal(manifestProblems("packages/sqs", sibling).length, 1);
  });
});
