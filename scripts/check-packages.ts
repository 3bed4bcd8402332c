/** Builds and packs every published package, and lints what a user would download. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.ts";
import { runProcess } from "./run-process.ts";
import type { WorkspacePackage } from "./workspace.ts";

/** pnpm as it was started, which need not be on the path; fetched when something else started this. */
function pnpm(): readonly string[] {
  const started = process.env["npm_execpath"];
  if (!started?.includes("pnpm")) return ["npx", "-y", "pnpm@12"];
  return /\.[cm]?js$/.test(started) ? ["node", started] : [started];
}

async function lintPackage(one: WorkspacePackage, folder: string): Promise<string[]> {
  const tarball = join(folder, `${one.manifest.name.replaceAll(/[@/]/g, "_")}.tgz`);
  const commands = [
    [...pnpm(), "pack", "--out", tarball],
    ["publint", "run", tarball, "--strict"],
    ["attw", tarball, "--profile", "esm-only", "--format", "ascii", "--no-color"],
  ];
  for (const command of commands) {
    const { code, output } = await runProcess(command, { folder: one.folder, output: "collect" });
    if (code !== 0) return [`${one.manifest.name}: ${command.join(" ")}\n${output}`];
  }
  return [];
}

const { built, errors } = await build();
const folder = mkdtempSync(join(tmpdir(), "leasehold-pack-"));
const problems = errors === undefined ? [] : [errors];
for (const one of built) problems.push(...(await lintPackage(one, folder)));
rmSync(folder, { recursive: true, force: true });
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
