import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fillSections, markdownTable } from "./generated-sections.ts";

const page = (first: string, second: string) => `# Page

<!-- generated: first -->
${first}
<!-- /generated -->

Between them.

<!-- generated: second -->
${second}
<!-- /generated -->
`;

describe("fillSections", () => {
  it("replaces what was there, and only that", () => {
    const filled = fillSections(page("old\n\nold", ""), { first: "1", second: "a $& b" });
    assert.equal(filled, page("\n1\n", "\na $& b\n"));
    assert.equal(fillSections(filled, { first: "1", second: "a $& b" }), filled);
  });

  it("fills a part that is empty", () => {
    const empty = "<!-- generated: only -->\n<!-- /generated -->\n";
    const filled = "<!-- generated: only -->\n\n1\n\n<!-- /generated -->\n";
    assert.equal(fillSections(empty, { only: "1" }), filled);
    assert.equal(fillSections(filled, { only: "1" }), filled);
  });

  it("does not take the end of one part for that of another", () => {
    const open = page("", "").replace("<!-- /generated -->", "");
    assert.throws(() => fillSections(open, { first: "1", second: "2" }), /lacks the part "first"/);
  });

  it("refuses a part that nothing makes, and one that the page lacks", () => {
    assert.throws(() => fillSections(page("", ""), { first: "1" }), /"second" that nothing makes/);
    assert.throws(() => fillSections(page("", ""), { first: "", second: "", third: "" }), /lacks the part "third"/);
  });
});

describe("markdownTable", () => {
  it("escapes bars within cells", () => {
    assert.equal(markdownTable(["a", "b"], [["1 | 2", "3"]]), "| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 |");
  });
});
