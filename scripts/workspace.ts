import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The root of the repository; everything here runs from it, wherever it was started. */
export const root = dirname(import.meta.dirname);

export interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface WorkspacePackage {
  /** Relative to the root, with forward slashes. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Files under the root that match, sorted; what was installed or built is left out. */
export function files(...patterns: readonly string[]): string[] {
  const exclude = (name: string) => /(^|[\\/])(node_modules|dist|\.git)$/.test(name);
  return globSync([...patterns], { cwd: root, exclude })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
}

export function packages(): WorkspacePackage[] {
  return files("packages/*/package.json", "test/package.json", "examples/package.json").map((file) => ({
    folder: dirname(file),
    manifest: JSON.parse(readFileSync(join(root, file), "utf8")) as Manifest,
  }));
}
