import { openQueue, openStore } from "@leasehold/core";
import { createCountingTelemetry } from "./counts.ts";
import { createFirstCrashes } from "./crashes-first.ts";
import { createExternalSystem } from "./external-system.ts";
import { type FaultKind, HELD } from "./faults.ts";
import { startFleet } from "./fleet.ts";
import { createTasks } from "./handlers.ts";
import { createInjection } from "./injection.ts";
import { QUEUE } from "./servers/queue-server.ts";
import type { Setup, SetupOptions } from "./setup.ts";

const QUEUE_URL = `memory://${QUEUE}`;
const STORE_URL = "memory://agent-run";

/** Everything in this process. */
export async function openMemorySetup(options: SetupOptions): Promise<Setup> {
  const { plan, system, tally, entropy, recoverAfterMs, leaseMs } = options;
  const [queue, store] = [await openQueue(QUEUE_URL), await openStore(STORE_URL)];
  const taskIdOf = (call: (typeof options.calls)[number]): string => options.taskIdOf(queue, call);
  const crashesFirst = options.crashes === "first";
  const injected = plan.filter(({ kind }) => !crashesFirst || HELD[kind] === undefined);
  const injection = createInjection(
    new Map(injected.map(({ kind, call, spares }) => [kind, [call, ...spares].map(taskIdOf)])),
  );
  const fleet = await startFleet({
    openQueue: () => openQueue(QUEUE_URL),
    openStore: () => openStore(STORE_URL),
    injection,
    tasksOf: (name) => createTasks(createExternalSystem(system.url, name), leaseMs),
    telemetry: createCountingTelemetry(tally.add),
    entropy,
    recoverAfterMs,
  });
  const crashed = new Map<FaultKind, string>();
  const crashes = createFirstCrashes({
    plan: crashesFirst ? plan : [],
    taskIdOf,
    system,
    workers: fleet,
    happened: (kind, taskId) => crashed.set(kind, taskId),
  });
  const failed = Promise.race([fleet.failed, crashes.failed]);
  // Raced by the demo while it runs; after that nobody waits for it.
  failed.catch(() => undefined);
  const stopWorkers = async (): Promise<void> => {
    crashes.stop();
    await fleet.stop();
  };
  return {
    queue: injection.forClient(queue),
    store,
    happened: (kind) => crashed.get(kind) ?? injection.happened.get(kind),
    get deaths() {
      return fleet.deaths;
    },
    failed,
    ready: crashes.ready,
    problems: crashes.problems,
    stopWorkers,
    async close() {
      await stopWorkers();
      await queue.close();
      await store.close();
    },
  };
}
