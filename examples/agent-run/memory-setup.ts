import { openQueue, openStore } from "@leasehold/core";
import { createCountingTelemetry } from "./counts.ts";
import { startFleet } from "./fleet.ts";
import { createInjection } from "./injection.ts";
import type { Setup, SetupOptions } from "./setup.ts";

const QUEUE_URL = "memory://agent-run";
const STORE_URL = "memory://agent-run";

/** Everything in this process. */
export async function openMemorySetup(options: SetupOptions): Promise<Setup> {
  const { plan, taskIdOf, tasks, tally, entropy, recoverAfterMs } = options;
  const [queue, store] = [await openQueue(QUEUE_URL), await openStore(STORE_URL)];
  const injection = createInjection(
    new Map(plan.map(({ kind, call, spares }) => [kind, [call, ...spares].map((each) => taskIdOf(queue, each))])),
  );
  const fleet = await startFleet({
    openQueue: () => openQueue(QUEUE_URL),
    openStore: () => openStore(STORE_URL),
    injection,
    tasks,
    telemetry: createCountingTelemetry(tally.add),
    entropy,
    recoverAfterMs,
  });
  return {
    queue: injection.forClient(queue),
    store,
    happened: injection.happened,
    get deaths() {
      return fleet.deaths;
    },
    failed: fleet.failed,
    ready: async () => undefined,
    problems: () => [],
    stopWorkers: () => fleet.stop(),
    async close() {
      await fleet.stop();
      await queue.close();
      await store.close();
    },
  };
}
