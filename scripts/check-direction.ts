/** Imports go one way: application -> adapter -> core/driver -> core. See direction.ts for the rules. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { directionProblems, manifestProblems } from "./direction.ts";
import { files, packages, root } from "./workspace.ts";

const problems = packages().flatMap(({ folder, manifest }) => [
  ...(folder.startsWith("packages/") ? manifestProblems(folder, manifest) : []),
  ...files(`${folder}/**/*.ts`).flatMap((file) =>
    directionProblems(folder, file, readFileSync(join(root, file), "utf8")),
  ),
]);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
