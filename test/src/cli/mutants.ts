/**
 * `mutants [--only TEXT]`: breaks core in one line at a time, in memory, and runs the simulation on it. Each mutant has to break
 * an invariant within its stated number of seeds. Exits with 1 when one is not noticed, or when the line that it changes does
 * not stand in its file exactly once. `LEASEHOLD_SUMMARY` names a file for the counts: one for each mutant.
 */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Mutant, mutants } from "../simulation/mutants.ts";

const CORE = new URL("../../../packages/core/src/", import.meta.url);
/** How the process of one mutant says what became of it. */
const CAUGHT = 10;
const SURVIVED = 11;
const MISPLACED = 12;

/** In a process of its own: core with the one line changed, from the first seed on. */
async function play(mutant: Mutant): Promise<number> {
  const url = new URL(mutant.file, CORE).href;
  const parts = readFileSync(fileURLToPath(url), "utf8").split(mutant.find);
  if (parts.length !== 2) {
    console.log(`the line to change stands ${parts.length - 1} times in ${mutant.file}, expected once: ${mutant.find}`);
    return MISPLACED;
  }
  registerHooks({
    load(loaded, context, next) {
      const module = next(loaded, context);
      return loaded === url ? { ...module, source: parts.join(mutant.replace) } : module;
    },
  });
  const { simulate } = await import("../simulation/run.ts");
  for (let seed = 1; seed <= mutant.seeds; seed++) {
    const { violations } = await simulate(seed);
    const [violation] = violations;
    if (violation === undefined) continue;
    console.log(`seed ${seed}, invariant ${violation.invariant}: ${violation.text}`);
    return CAUGHT;
  }
  console.log(`nothing was noticed in ${mutant.seeds} seeds`);
  return SURVIVED;
}

/** Starts the process of one mutant; answers what it said, and whether the mutant was caught. */
function run(index: number): Promise<{ readonly caught: boolean; readonly text: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "--mutant", String(index)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    child.once("close", (code) => {
      const known = code === CAUGHT || code === SURVIVED || code === MISPLACED;
      resolve({
        caught: code === CAUGHT,
        text: known ? text.trim() : `its process ended with ${code}; ${text.trim()}`,
      });
    });
  });
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { mutant: { type: "string" }, only: { type: "string" } } });
  if (values.mutant !== undefined) return play(mutants[Number(values.mutant)] as Mutant);

  const chosen = mutants.flatMap((mutant, index) =>
    values.only === undefined || mutant.name.includes(values.only) ? [index] : [],
  );
  if (chosen.length === 0) {
    console.error(`No mutant has ${JSON.stringify(values.only)} in its name.`);
    return 2;
  }
  let passed = 0;
  const waiting = [...chosen];
  const lane = async (): Promise<void> => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      const { caught, text } = await run(index);
      if (caught) passed += 1;
      console.log(`${caught ? "caught" : "failed"}: ${mutants[index]?.name}: ${text.slice(0, 240)}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), chosen.length) }, lane));
  const failed = chosen.length - passed;
  console.log(`${passed} passed, ${failed} failed`);
  const summaryFile = process.env["LEASEHOLD_SUMMARY"];
  if (summaryFile) writeFileSync(summaryFile, JSON.stringify({ passed, failed, skipped: 0, skips: [] }));
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
