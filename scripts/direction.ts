import { posix } from "node:path";
import type { Manifest } from "./workspace.ts";

const scope = "@leasehold/";
const importPattern = /\b(?:from|import)\s*\(?\s*["'`]([^"'`]+)["'`]/g;

/** What a source file imports by a literal name. Lines that are comment are left out, so that docs can show imports. */
export function importsOf(source: string): string[] {
  const code = source.replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, "");
  return [...code.matchAll(importPattern)].map((match) => match[1] ?? "");
}

/** The leasehold packages that one package may name; test files may reach a little further. */
function mayImport(folder: string, specifier: string, isTest: boolean): boolean {
  if (folder === "packages/core" || folder === "packages/emulators") return false;
  if (folder === "test") return specifier !== "@leasehold/examples";
  if (folder === "examples") return true;
  if (isTest) return specifier === "@leasehold/core" || specifier.startsWith("@leasehold/core/");
  return specifier === "@leasehold/core/driver";
}

const rules: Readonly<Record<string, string>> = {
  "packages/core": "core imports no other package of leasehold",
  "packages/emulators": "emulators import no other package of leasehold",
  test: "the tests do not import the examples",
};

/** What is wrong with the imports of one file; `folder` is its package, both relative to the root. */
export function directionProblems(folder: string, file: string, source: string): string[] {
  const inside = folder.startsWith("packages/") ? `${folder}/src/` : `${folder}/`;
  return importsOf(source).flatMap((specifier) => {
    if (specifier.startsWith(".")) {
      const target = posix.join(posix.dirname(file), specifier);
      return target.startsWith(inside) ? [] : [`${file}: "${specifier}" leaves ${inside}: import the package by name`];
    }
    if (!specifier.startsWith(scope) || mayImport(folder, specifier, file.endsWith(".test.ts"))) return [];
    const rule = rules[folder] ?? "an adapter imports @leasehold/core/driver alone";
    return [`${file}: "${specifier}": ${rule}`];
  });
}

/** What is wrong with the dependencies a package under `packages/` declares. */
export function manifestProblems(folder: string, manifest: Manifest): string[] {
  const { dependencies, devDependencies, peerDependencies, optionalDependencies } = manifest;
  const allowed = folder === "packages/core" || folder === "packages/emulators" ? [] : ["@leasehold/core"];
  return Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies, ...optionalDependencies })
    .filter((name) => name.startsWith(scope) && !allowed.includes(name))
    .map((name) => `${folder}/package.json: must not depend on ${name}`);
}
