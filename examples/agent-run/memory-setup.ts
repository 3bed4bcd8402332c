import { openQueue, openStore } from "@leasehold/core";
import { createCountingTelemetry } from "./counts.ts";
import { createFirstCrashes } from "./crashes-first.ts";
import { createExternalSystem } from "./external-system.ts";
import { type FaultKind, HELD } from "./faults.ts";
import { startFleet } from "./fleet.ts";
import { createTasks } from "./handlers.ts";
import { createInjection } from "./injection.ts";
import { withMessageFaults } from "./message-faults.ts";
import { MEMORY_QUEUE_URL, startMemoryServer } from "./servers/memory.ts";
import type { Setup, SetupOptions } from "./setup.ts";

const STORE_URL = "memory://agent-run";

/** Everything in this process. */
export async function openMemorySetup(options: SetupOptions): Promise<Setup> {
  const { plan, system, tally, entropy, recoverAfterMs, leaseMs } = options;
  const [queueServer, store] = [await startMemoryServer(), await openStore(STORE_URL)];
  const { queue } = queueServer;
  const taskIdOf = (call: (typeof options.calls)[number]): string => options.taskIdOf(queue, call);
  const happened = new Map<FaultKind, string>();
  const crashesFirst = options.crashes === "first";
  const injected = plan.filter(({ kind }) => !crashesFirst || HELD[kind] === undefined);
  const targets = new Map(injected.map(({ kind, call, spares }) => [kind, [call, ...spares].map(taskIdOf)]));
  const fleet = await startFleet({
    openQueue: () => openQueue(MEMORY_QUEUE_URL),
    openStore: () => openStore(STORE_URL),
    injection: createInjection(targets, happened),
    tasksOf: (name) => createTasks(createExternalSystem(system.url, name), leaseMs),
    telemetry: createCountingTelemetry(tally.add),
    entropy,
    recoverAfterMs,
  });
  const crashes = createFirstCrashes({ plan: crashesFirst ? plan : [], taskIdOf, system, workers: fleet, happened });
  const failed = Promise.race([fleet.failed, crashes.failed]);
  // Raced by the demo while it runs; after that nobody waits for it.
  failed.catch(() => undefined);
  const stopWorkers = async (): Promise<void> => {
    crashes.stop();
    await fleet.stop();
  };
  return {
    queue: withMessageFaults(queueServer, (kind) => targets.get(kind)?.[0], happened),
    store,
    happened,
    get deaths() {
      return fleet.deaths;
    },
    failed,
    ready: crashes.ready,
    problems: crashes.problems,
    stopWorkers,
    async close() {
      await stopWorkers();
      await queueServer.stop();
      await store.close();
    },
  };
}
