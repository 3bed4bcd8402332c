/** Builds `dist` of every package that is published, those that others need first. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProcess } from "./run-process.ts";
import { packages, root, type WorkspacePackage } from "./workspace.ts";

function inBuildOrder(all: readonly WorkspacePackage[]): WorkspacePackage[] {
  const ordered: WorkspacePackage[] = [];
  const add = (one: WorkspacePackage) => {
    if (ordered.includes(one)) return;
    const needed = { ...one.manifest.dependencies, ...one.manifest.peerDependencies, ...one.manifest.devDependencies };
    for (const other of all) if (other !== one && other.manifest.name in needed) add(other);
    ordered.push(one);
  };
  for (const one of all) add(one);
  return ordered;
}

/** Answers the packages built, or the compiler's complaints about the first that could not be. */
export async function build(): Promise<{ readonly built: readonly WorkspacePackage[]; readonly errors?: string }> {
  const published = inBuildOrder(packages().filter((one) => !one.manifest.private));
  for (const one of published) {
    rmSync(join(root, one.folder, "dist"), { recursive: true, force: true });
    const command = ["tsc", "--project", join(one.folder, "tsconfig.build.json")];
    const { code, output } = await runProcess(command, { output: "collect" });
    if (code !== 0) return { built: [], errors: `${one.manifest.name}\n${output}` };
  }
  return { built: published };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { built, errors } = await build();
  console.log(errors ?? built.map((one) => `built ${one.folder}/dist`).join("\n"));
  if (errors !== undefined) process.exitCode = 1;
}
