import { createClient } from "@leasehold/core";
import { createFirstCrashes } from "./crashes-first.ts";
import type { FaultKind } from "./faults.ts";
import { MAX_CLOCK_SKEW_MS } from "./fleet.ts";
import { createHeldFaults } from "./held-faults.ts";
import { withMessageFaults } from "./message-faults.ts";
import { startDynamodbServer } from "./servers/dynamodb.ts";
import type { QueueServer } from "./servers/queue-server.ts";
import type { Setup, SetupOptions } from "./setup.ts";
import { startWorkers } from "./worker-processes.ts";

/** A queue service and DynamoDB as servers in this process; workers, each a process of its own, that reach them over the network. */
export async function openProcessSetup(
  startQueueServer: () => Promise<QueueServer>,
  options: SetupOptions,
): Promise<Setup> {
  const [queueServer, storeServer] = [await startQueueServer(), await startDynamodbServer()];
  const { queue } = queueServer;
  const { store } = storeServer;
  const { calls, plan, system, tally, look } = options;
  const taskIdOf = (call: (typeof calls)[number]): string => options.taskIdOf(queue, call);
  const happened = new Map<FaultKind, string>();
  const close = async (): Promise<void> => {
    await queueServer.stop();
    await storeServer.stop();
  };
  try {
    const workers = await startWorkers({
      ...queueServer.environment,
      ...storeServer.environment,
      SYSTEM_URL: system.url,
      MAX_CLOCK_SKEW_MS: String(MAX_CLOCK_SKEW_MS),
      RECOVER_AFTER_MS: String(options.recoverAfterMs),
      LEASE_MS: String(options.leaseMs),
    });
    workers.onCount((_, kind, what) => tally.add(kind, what));
    const heldOptions = {
      calls,
      plan,
      taskIdOf,
      client: createClient({ queue, store }),
      store,
      system,
      cutOff: storeServer.cutOff,
      workers,
      look,
      happened,
    };
    const heldFaults = options.crashes === "first" ? createFirstCrashes(heldOptions) : createHeldFaults(heldOptions);
    const failed = Promise.race([workers.failed, heldFaults.failed]);
    // Raced by the demo while it runs; after that nobody waits for it.
    failed.catch(() => undefined);
    const targetOf = (kind: FaultKind): string | undefined => {
      const fault = plan.find((each) => each.kind === kind);
      return fault === undefined ? undefined : taskIdOf(fault.call);
    };
    return {
      queue: withMessageFaults(queueServer, targetOf, happened),
      store,
      happened,
      get deaths() {
        return workers.deaths;
      },
      failed,
      ready: heldFaults.ready,
      problems: heldFaults.problems,
      async stopWorkers() {
        heldFaults.stop();
        await workers.stop();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
