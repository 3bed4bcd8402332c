/**
 * `soak [--minutes M] [--rate N]`: one worker process on SQS and DynamoDB servers, N tasks a second (50) for M minutes (20), with
 * failures, retries and renewals among them. Prints what is left in the process after each collection of garbage, and compares the
 * third quarter with the last one: what grows with the tasks done is a leak. Measures, and judges nothing.
 */
import { parseArgs } from "node:util";
import { medianOf, runSoak, type Sample } from "../soak/soak.ts";

const MINUTE_MS = 60_000;
const SAMPLES = 60;

const { values } = parseArgs({ options: { minutes: { type: "string" }, rate: { type: "string" } } });
const minutes = Number(values.minutes ?? 20);
const rate = Number(values.rate ?? 50);
if (!(minutes > 0 && rate > 0)) {
  console.error("--minutes, --rate: expected numbers above 0");
  process.exit(2);
}

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;
const samples = await runSoak({
  lastsMs: minutes * MINUTE_MS,
  rate,
  sampleMs: Math.max((minutes * MINUTE_MS) / SAMPLES, 1_000),
  onSample: ({ done, heapUsed, rss, handles, timers }, atMs) =>
    console.log(
      `${(atMs / 1_000).toFixed(0).padStart(6)} s  ${String(done).padStart(8)} tasks  heap ${mebibytes(heapUsed)}  rss ${mebibytes(rss)}  ${handles} handles  ${timers} timers`,
    ),
});

const quarter = Math.floor(samples.length / 4);
const [third, last] = [samples.slice(2 * quarter, 3 * quarter), samples.slice(3 * quarter)];
for (const figure of [
  "heapUsed",
  "rss",
  "external",
  "handles",
  "timers",
] as const satisfies readonly (keyof Sample)[]) {
  const [before, after] = [medianOf(third, figure), medianOf(last, figure)];
  const shown = figure === "handles" || figure === "timers" ? String : mebibytes;
  console.log(`${figure}: median ${shown(before)} in the third quarter, ${shown(after)} in the last`);
}
