import { createClient, openQueue, openStore, type QueueDriver } from "@leasehold/core";
import type { OutgoingMessage, SendOutcome } from "@leasehold/core/driver";
import type { FaultKind } from "./faults.ts";
import { MAX_CLOCK_SKEW_MS } from "./fleet.ts";
import { createHeldFaults } from "./held-faults.ts";
import { taskIdIn } from "./injection.ts";
import { QUEUE_URL, type Servers, STORE_URL, startServers } from "./servers.ts";
import type { Setup, SetupOptions } from "./setup.ts";
import { startWorkers } from "./worker-processes.ts";

/** SQS and DynamoDB as servers in this process; workers, each a process of its own, that reach them over the network. */
export async function openSqsSetup(options: SetupOptions): Promise<Setup> {
  const servers = await startServers();
  const [queue, store] = [
    await openQueue(QUEUE_URL, { client: servers.sqsClient }),
    await openStore(STORE_URL, { config: servers.dynamodbClient }),
  ];
  const { calls, plan, system, tally, look } = options;
  const taskIdOf = (call: (typeof calls)[number]): string => options.taskIdOf(queue, call);
  const happened = new Map<FaultKind, string>();
  const close = async (): Promise<void> => {
    await queue.close();
    await store.close();
    await servers.stop();
  };
  try {
    const workers = await startWorkers({
      ...servers.environment,
      SYSTEM_URL: system.url,
      MAX_CLOCK_SKEW_MS: String(MAX_CLOCK_SKEW_MS),
      RECOVER_AFTER_MS: String(options.recoverAfterMs),
    });
    workers.onCount((_, kind, what) => tally.add(kind, what));
    const heldFaults = createHeldFaults({
      calls,
      plan,
      taskIdOf,
      client: createClient({ queue, store }),
      store,
      system,
      servers,
      workers,
      look,
      happened: (kind, taskId) => happened.set(kind, taskId),
    });
    const failed = Promise.race([workers.failed, heldFaults.failed]);
    // Raced by the demo while it runs; after that nobody waits for it.
    failed.catch(() => undefined);
    const targetOf = (kind: FaultKind): string | undefined => {
      const fault = plan.find((each) => each.kind === kind);
      return fault === undefined ? undefined : taskIdOf(fault.call);
    };
    return {
      queue: withMessageFaults(queue, servers, targetOf, happened),
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

/** Longer than it takes to take the message away before a worker can see it, ms. */
const OUT_OF_SIGHT_MS = 60_000;

/** The queue as the agent's client sees it: of the messages that it sends one vanishes, and one is delivered twice. */
function withMessageFaults(
  queue: QueueDriver,
  servers: Servers,
  targetOf: (kind: FaultKind) => string | undefined,
  happened: Map<FaultKind, string>,
): QueueDriver {
  function after(message: OutgoingMessage, outcome: SendOutcome | undefined): void {
    if (outcome?.status !== "confirmed" || outcome.messageId === undefined) return;
    const taskId = taskIdIn(message.body);
    if (taskId === undefined) return;
    if (taskId === targetOf("lost_message") && servers.loseMessage(outcome.messageId))
      happened.set("lost_message", taskId);
    if (taskId === targetOf("doubled_message") && servers.doubleMessage(outcome.messageId))
      happened.set("doubled_message", taskId);
  }

  return {
    ...queue,
    async send(messages, sendOptions) {
      const vanishing = targetOf("lost_message");
      const outcomes = await queue.send(
        messages.map((message) =>
          taskIdIn(message.body) === vanishing ? { ...message, delayMs: OUT_OF_SIGHT_MS } : message,
        ),
        sendOptions,
      );
      messages.forEach((message, index) => {
        after(message, outcomes[index]);
      });
      return outcomes;
    },
  };
}
