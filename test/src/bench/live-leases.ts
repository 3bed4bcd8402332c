import { createClient, createWorker, defineTask } from "@leasehold/core";
import { createMemoryBroker, createMemoryQueue, createMemoryStore } from "@leasehold/core/memory";
import { z } from "zod";
import { cpuUs } from "./core-overhead.ts";
import type { BenchRow } from "./row.ts";

/** Many leases kept alive in one process: are all held, what do they cost in CPU, calls and memory? */
export async function liveLeases(count: number, leaseMs: number, holdMs: number): Promise<readonly BenchRow[]> {
  const broker = createMemoryBroker();
  broker.createQueue("leases");
  const driver = createMemoryQueue({ name: "leases", broker });
  let extendCalls = 0;
  let extended = 0;
  const queue = {
    ...driver,
    extend: (items: Parameters<typeof driver.extend>[0]) => {
      extendCalls += 1;
      extended += items.length;
      return driver.extend(items);
    },
  };
  const store = createMemoryStore();
  const release: (() => void)[] = [];
  let lost = 0;
  let allHeld: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    allHeld = resolve;
  });
  const task = defineTask({
    type: "held",
    input: z.object({ n: z.number() }),
    lease: leaseMs,
    async run({ signal, renew }) {
      signal.addEventListener("abort", () => {
        lost += 1;
      });
      await renew({ stage: "external_call", reason: "waiting for the batch result", budget: "1h" });
      await new Promise<void>((resolve) => {
        release.push(resolve);
        if (release.length === count) allHeld();
      });
    },
  });
  const client = createClient({ queue, store });
  for (let n = 0; n < count; n++) await client.enqueue(task, { n });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const worker = createWorker({ queue, store, tasks: [task], concurrency: count, recovery: false });
  const stop = new AbortController();
  const running = worker.run({ signal: stop.signal });
  await held;
  collectGarbage();
  const heapPerLease = (process.memoryUsage().heapUsed - before) / count;
  const start = process.cpuUsage();
  const startedMs = performance.now();
  extendCalls = 0;
  extended = 0;
  await new Promise((resolve) => setTimeout(resolve, holdMs));
  const share = cpuUs(start) / 1_000 / (performance.now() - startedMs);
  const perCall = extendCalls === 0 ? 0 : extended / extendCalls;
  for (const each of release) each();
  stop.abort();
  await running;
  const name = `${count} leases of ${leaseMs / 1_000} s`;
  return [
    { name: `${name}: lost in ${holdMs / 1_000} s`, value: lost, unit: "leases", goal: "0" },
    { name: `${name}: CPU, memory store included`, value: share * 100, unit: "% of a core", goal: "<= 10" },
    { name: `${name}: extensions per broker call`, value: perCall, unit: "items", goal: "~10" },
    {
      name: `${name}: heap, records included`,
      value: heapPerLease / 1_024,
      unit: "KB/lease",
      goal: "<= 4 without record",
    },
  ];
}

function collectGarbage(): void {
  globalThis.gc?.();
}
