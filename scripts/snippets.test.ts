import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Snippet, snippetsOf, snippetsOfPages, writeSnippets } from "./snippets.ts";

const fenced = (info: string, code: string): string => `\`\`\`${info}\n${code}\n\`\`\`\n`;

test("blocks of TypeScript are found, with their names, and whether they run and print", () => {
  const page = [
    "# Page",
    fenced("ts", "// one.ts\nexport {};"),
    fenced("sh", "ls"),
    fenced("ts run", "x();"),
    fenced("text output", "1\n2"),
  ].join("\n");
  assert.deepEqual(snippetsOf("page.md", page), [
    { page: "page.md", line: 2, code: "// one.ts\nexport {};", file: "one.ts", run: false, output: undefined },
    { page: "page.md", line: 11, code: "x();", file: "line-11.ts", run: true, output: "1\n2" },
  ]);
});

test("a block that never ends is an error", () => {
  assert.throws(() => snippetsOf("page.md", "\n```ts\nx();\n"), /page\.md:2: this block of code has no end/);
});

test("a snippet with a type error, and one that fails, are found", async () => {
  const bad: Snippet = {
    page: "p.md",
    line: 1,
    code: "const wrong: number = 'x';\nthrow new Error('no');",
    file: "bad.ts",
    run: true,
    output: undefined,
  };
  const folder = writeSnippets([bad]);
  after(() => folder.remove());
  assert.match(await folder.check(), /bad\.ts.*TS2322/);
  await assert.rejects(folder.run(bad), /p\.md:1: ended with 1:.*Error: no/s);
});

describe("the code in README and docs", () => {
  const snippets = snippetsOfPages();
  const folder = writeSnippets(snippets);
  after(() => folder.remove());

  test("has the right types", async () => {
    assert.ok(snippets.length > 0);
    assert.equal(await folder.check(), "");
  });

  for (const snippet of snippets.filter((each) => each.run)) {
    test(`runs: ${snippet.page}:${snippet.line}`, async () => {
      const printed = await folder.run(snippet);
      if (snippet.output !== undefined) assert.equal(printed, snippet.output);
    });
  }
});
