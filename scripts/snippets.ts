import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { files, packages, root } from "./workspace.ts";

/**
 * The code in README and docs. Each block that begins with ```` ```ts ```` is a module of its own and is type-checked; one that begins
 * with ```` ```ts run ```` is run too, and what it prints is held against a block ```` ```text output ```` that follows. A first line
 * `// name.ts` names the module, so that the blocks after it on the page can import it. What the snippets import besides (the
 * client of some system) is in `docs/support`.
 */
export interface Snippet {
  /** Relative to the root. */
  readonly page: string;
  /** The line of its fence. */
  readonly line: number;
  readonly code: string;
  /** The module's file name. */
  readonly file: string;
  readonly run: boolean;
  /** What it must print. */
  readonly output: string | undefined;
}

const FENCE = /^```(.*)$/;
const NAME = /^\/\/ ([a-z0-9-]+\.ts)$/;

/** Finds the snippets of a page. Throws for a fence that is never closed. */
export function snippetsOf(page: string, text: string): readonly Snippet[] {
  const snippets: Snippet[] = [];
  const lines = text.split(/\r?\n/);
  for (let index = 0; index < lines.length; index++) {
    const info = FENCE.exec(lines[index] ?? "")?.[1]?.trim();
    if (info === undefined) continue;
    const end = lines.indexOf("```", index + 1);
    if (end < 0) throw new Error(`${page}:${index + 1}: this block of code has no end`);
    const code = lines.slice(index + 1, end).join("\n");
    const last = snippets.at(-1);
    if (info === "text output" && last?.run === true) {
      snippets.splice(-1, 1, { ...last, output: code });
    } else if (info === "ts" || info === "ts run") {
      const file = NAME.exec(lines[index + 1] ?? "")?.[1] ?? `line-${index + 1}.ts`;
      snippets.push({ page, line: index + 1, code, file, run: info === "ts run", output: undefined });
    }
    index = end;
  }
  return snippets;
}

export const pages: readonly string[] = files("README.md", "CONTRIBUTING.md", "docs/**/*.md");

export function snippetsOfPages(): readonly Snippet[] {
  return pages.flatMap((page) => snippetsOf(page, readFileSync(join(root, page), "utf8")));
}

/** Snippets as modules in a folder of their own, where they find the packages as a program beside the examples does. */
export interface SnippetFolder {
  /** What the type checker says, by line; empty: nothing. */
  check(): Promise<string>;
  /** Runs one, and answers what it printed. Rejects when it fails. */
  run(snippet: Snippet): Promise<string>;
  remove(): void;
}

/** Writes them out, each page into a folder of its own. */
export function writeSnippets(snippets: readonly Snippet[]): SnippetFolder {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-snippets-"));
  const folderOf = (page: string): string => join(folder, page.replaceAll(/[^A-Za-z0-9]+/g, "-"));
  linkPackages(join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  const config = {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: { typeRoots: [join(root, "node_modules/@types")] },
    include: ["."],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  for (const page of new Set(snippets.map((snippet) => snippet.page))) {
    mkdirSync(folderOf(page));
    for (const support of files("docs/support/*.ts"))
      copyFileSync(join(root, support), join(folderOf(page), basename(support)));
  }
  for (const snippet of snippets) writeFileSync(join(folderOf(snippet.page), snippet.file), `${snippet.code}\n`);
  return {
    async check() {
      const { output } = await runTool(
        process.execPath,
        [join(root, "node_modules/typescript/bin/tsc"), "--project", "."],
        folder,
      );
      return output;
    },
    async run(snippet) {
      const { code, output } = await runTool(process.execPath, [snippet.file], folderOf(snippet.page));
      if (code !== 0) throw new Error(`${snippet.page}:${snippet.line}: ended with ${String(code)}:\n${output}`);
      return output;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What snippets may import: every package here, and what users have beside it. */
function linkPackages(modules: string): void {
  mkdirSync(join(modules, "@leasehold"), { recursive: true });
  for (const { folder, manifest } of packages())
    symlinkSync(join(root, folder), join(modules, manifest.name), "junction");
  symlinkSync(join(root, "examples/node_modules/zod"), join(modules, "zod"), "junction");
}

function runTool(
  command: string,
  parameters: readonly string[],
  cwd: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, parameters, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output: Buffer.concat(chunks).toString().trimEnd() }));
  });
}
