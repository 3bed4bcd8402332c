/** What must hold for every file of the repository, new ones included. See tree.ts for the rules. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runProcess } from "./run-process.ts";
import { treeProblems } from "./tree.ts";
import { root } from "./workspace.ts";

function read(file: string): string {
  try {
    return readFileSync(join(root, file), "utf8");
  } catch {
    return ""; // Deleted in the work tree, still in the index.
  }
}

const listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
const { code, output } = await runProcess(listing, { output: "collect" });
const tracked = code === 0 ? output.split("\0").filter((file) => file !== "") : [];
const problems = tracked.length === 0 ? [`git listed no files\n${output}`] : [];
for (const file of tracked) problems.push(...treeProblems(file, read(file)));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
