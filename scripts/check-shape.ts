/** Adapters of queues have the same files. See shape.ts for which. */
import { basename } from "node:path";
import { shapeProblems } from "./shape.ts";
import { files, packages } from "./workspace.ts";

const problems = packages()
  .filter(({ folder }) => folder.startsWith("packages/"))
  .flatMap(({ folder }) =>
    shapeProblems(
      folder,
      files(`${folder}/src/*.ts`).map((file) => basename(file)),
    ),
  );
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
