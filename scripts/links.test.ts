import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { files, root } from "./workspace.ts";

const LINK = /\]\((?!https?:|mailto:)([^)\s]*)\)/g;

/** As GitHub makes the anchor of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

function anchorsOf(file: string): readonly string[] {
  return [...readFileSync(file, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

/** What is wrong with a link of a page, if anything. */
function problemOf(page: string, link: string): string | undefined {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(root, page) : join(root, dirname(page), path);
  if (!existsSync(target)) return `${page}: ${link}: there is no such file`;
  if (anchor !== undefined && !anchorsOf(target).includes(anchor)) return `${page}: ${link}: there is no such heading`;
  return undefined;
}

test("every link between the pages of the repository leads somewhere", () => {
  const links = files("*.md", "docs/**/*.md", "examples/**/*.md", "packages/*/*.md").flatMap((page) =>
    [...readFileSync(join(root, page), "utf8").matchAll(LINK)].map(([, link = ""]) => ({ page, link })),
  );
  assert.ok(links.length > 0);
  assert.deepEqual(
    links.map(({ page, link }) => problemOf(page, link)).filter((problem) => problem !== undefined),
    [],
  );
});

test("a link that leads nowhere is found", () => {
  assert.match(problemOf("README.md", "docs/nowhere.md") ?? "", /no such file/);
  assert.match(problemOf("README.md", "docs/concepts.md#no-such-heading") ?? "", /no such heading/);
  assert.equal(problemOf("docs/operations.md", "concepts.md#the-states-of-a-task"), undefined);
});
