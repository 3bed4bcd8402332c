import { createClient, createWorker, defineTask, LeaseholdError } from "@leasehold/core";
import { createTaskStore, systemClock } from "@leasehold/core/driver";
import { createMemoryBroker, createMemoryItems, createMemoryQueue, withFaults } from "@leasehold/core/memory";
import { z } from "zod";
import type { BenchRow } from "./row.ts";

/** How long after its deadline a holder whose renewals fail hears of it. */
export async function lostLease(leaseMs: number): Promise<readonly BenchRow[]> {
  const broker = createMemoryBroker();
  broker.createQueue("lost");
  const queue = createMemoryQueue({ name: "lost", broker });
  let down = false;
  const items = withFaults(createMemoryItems(), systemClock, () =>
    down ? { error: new LeaseholdError("Unavailable", "the store is down") } : undefined,
  );
  const store = createTaskStore({ items });
  let heardMs = Number.NaN;
  const task = defineTask({
    type: "lost",
    input: z.object({}),
    lease: leaseMs,
    async run({ signal }) {
      down = true;
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      heardMs = performance.now();
    },
  });
  const client = createClient({ queue, store });
  const worker = createWorker({ queue, store, tasks: [task], recovery: false });
  const stop = new AbortController();
  await client.enqueue(task, {});
  const startedMs = performance.now();
  const running = worker.run({ signal: stop.signal });
  while (Number.isNaN(heardMs)) await new Promise((resolve) => setTimeout(resolve, 20));
  stop.abort();
  await running;
  const marginMs = Math.min(Math.max(1_000, leaseMs * 0.05), leaseMs / 4);
  return [
    {
      name: `lease of ${leaseMs / 1_000} s, store down: abort after its deadline`,
      value: heardMs - startedMs - (leaseMs - marginMs),
      unit: "ms",
      goal: "< 50",
    },
  ];
}
