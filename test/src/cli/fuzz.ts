/**
 * `fuzz [--front F] [--inputs N] [--seed S]`: says to each embedded server what the real SDK says to it, in N wrong ways (20,000), and to the
 * envelope parser what a client enqueues. A server that ends, or does not serve the SDK afterwards, is a failure; what its process keeps
 * is printed after the first half and at the end. Exits with 1 on a failure.
 */
import { parseArgs } from "node:util";
import { fuzzEnvelope } from "../fuzz/envelope.ts";
import { fronts } from "../fuzz/fronts.ts";
import { fuzzFront } from "../fuzz/fuzz.ts";

const { values } = parseArgs({
  options: { front: { type: "string" }, inputs: { type: "string" }, seed: { type: "string" } },
});
const [inputs, seed] = [Number(values.inputs ?? 20_000), Number(values.seed ?? 1)];
const names = values.front === undefined ? [...Object.keys(fronts), "envelope"] : [values.front];
if (
  !(inputs >= 2) ||
  !Number.isSafeInteger(seed) ||
  names.some((name) => name !== "envelope" && fronts[name] === undefined)
) {
  console.error(
    `--front: one of ${Object.keys(fronts).join(", ")}, envelope; --inputs: from 2 up; --seed: a whole number`,
  );
  process.exit(2);
}

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;
for (const name of names) {
  try {
    if (name === "envelope") {
      const { read, refused } = fuzzEnvelope(inputs, seed);
      console.log(`envelope: ${inputs} inputs: ${read} read, ${refused} refused with a reason`);
    } else {
      const { half, end } = await fuzzFront(name, inputs, seed);
      const shown = [half, end].map(({ heapUsed, handles }) => `heap ${mebibytes(heapUsed)}, ${handles} handles`);
      console.log(`${name}: ${inputs} inputs: ${shown[0]} after half, ${shown[1]} after all`);
    }
  } catch (error) {
    console.error(`failed: ${name}: ${String(error)}`);
    process.exitCode = 1;
  }
}
