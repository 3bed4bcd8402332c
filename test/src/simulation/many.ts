import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { addRun, addTotals, NOTHING, type Totals } from "./report.ts";
import { simulate } from "./run.ts";

export interface Range {
  readonly first: number;
  readonly count: number;
  /** Every how many seeds one is taken. */
  readonly step: number;
}

/** Failures after which going on brings nothing new. */
const MAX_FAILURES = 5;

async function runRange({ first, count, step }: Range): Promise<Totals> {
  let totals = NOTHING;
  for (let index = 0; index < count && totals.failures.length < MAX_FAILURES; index++) {
    totals = addRun(totals, await simulate(first + index * step));
  }
  return totals;
}

/** Runs seeds from `first` on, in as many threads as given. */
export async function simulateMany(first: number, seeds: number, threads: number): Promise<Totals> {
  if (threads <= 1) return runRange({ first, count: seeds, step: 1 });
  const parts = Array.from({ length: threads }, (_, index): Promise<Totals> => {
    const range: Range = { first: first + index, count: Math.ceil((seeds - index) / threads), step: threads };
    return new Promise((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: range });
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", (code) => {
        if (code !== 0) reject(new Error(`a thread of the simulation ended with ${code}`));
      });
    });
  });
  return (await Promise.all(parts)).reduce(addTotals, NOTHING);
}

if (!isMainThread && parentPort !== null) parentPort.postMessage(await runRange(workerData as Range));
