/**
 * Everything that can be judged in seconds. Each step runs whatever became of the others; the ones that failed
 * are printed in full and named again at the end. Parameters limit the run to the steps of those names.
 */
import { runProcess } from "./run-process.ts";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
}

const steps: readonly Step[] = [
  { name: "format", command: ["biome", "ci", "--colors=off", "--linter-enabled=false", "."] },
  { name: "lint", command: ["biome", "lint", "--colors=off", "--error-on-warnings", "."] },
  { name: "types", command: ["tsc", "--project", "tsconfig.json"] },
  { name: "unused", command: ["knip"] },
  { name: "direction", command: ["node", "scripts/check-direction.ts"] },
  { name: "shape", command: ["node", "scripts/check-shape.ts"] },
  { name: "tree", command: ["node", "scripts/check-tree.ts"] },
  { name: "docs", command: ["node", "scripts/generate-docs.ts", "--check"] },
  { name: "workspace", command: ["sherif", "--fail-on-warnings"] },
  { name: "packages", command: ["node", "scripts/check-packages.ts"] },
  { name: "unit", command: ["node", "scripts/unit.ts"] },
];

const names = process.argv.slice(2);
const selected = steps.filter((step) => names.length === 0 || names.includes(step.name));
const unknown = names.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`No such step: ${unknown.join(", ")}. There are: ${steps.map((step) => step.name).join(", ")}`);
  process.exit(2);
}

const failed: string[] = [];
for (const step of selected) {
  const startedMs = performance.now();
  const { code, output } = await runProcess(step.command, { output: "collect" });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${step.name} (${seconds} s)`);
  if (code !== 0) {
    failed.push(step.name);
    console.log(output);
  }
}

console.log(failed.length === 0 ? "check: all good" : `check: failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
