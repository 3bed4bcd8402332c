import { createClient, createWorker, defineTask } from "@leasehold/core";
import { createMemoryBroker, createMemoryQueue, createMemoryStore } from "@leasehold/core/memory";
import { z } from "zod";
import type { BenchRow } from "./row.ts";

/** Short tasks through client, memory driver, memory store and worker: what core itself costs. */
export async function coreOverhead(backlog: number): Promise<readonly BenchRow[]> {
  const name = `bench-${backlog}`;
  const broker = createMemoryBroker();
  broker.createQueue(name);
  const queue = createMemoryQueue({ name, broker });
  const store = createMemoryStore();
  let left = backlog;
  let allDone: () => void = () => undefined;
  const done = new Promise<void>((resolve) => {
    allDone = resolve;
  });
  const task = defineTask({
    type: "short",
    input: z.object({ n: z.number() }),
    run() {
      left -= 1;
      if (left === 0) allDone();
    },
  });
  const client = createClient({ queue, store });
  const enqueueStart = process.cpuUsage();
  for (let n = 0; n < backlog; n++) await client.enqueue(task, { n }, { key: `k${n}` });
  const enqueueUs = cpuUs(enqueueStart) / backlog;
  const worker = createWorker({ queue, store, tasks: [task], concurrency: 100, recovery: false });
  const stop = new AbortController();
  const workStart = process.cpuUsage();
  const startedMs = performance.now();
  const running = worker.run({ signal: stop.signal });
  await done;
  const seconds = (performance.now() - startedMs) / 1_000;
  const workUs = cpuUs(workStart) / backlog;
  stop.abort();
  await running;
  await store.close();
  return [
    { name: `enqueue, backlog ${backlog}`, value: enqueueUs, unit: "us CPU/task" },
    { name: `worker, backlog ${backlog}`, value: workUs, unit: "us CPU/task" },
    { name: `worker, backlog ${backlog}`, value: backlog / seconds, unit: "tasks/s", goal: ">= 50000" },
  ];
}

export function cpuUs(start: NodeJS.CpuUsage): number {
  const used = process.cpuUsage(start);
  return used.user + used.system;
}
