import { openQueue } from "@leasehold/core";
import { memoryBroker } from "@leasehold/core/memory";
import { NOWHERE, QUEUE, type QueueServer } from "./queue-server.ts";

export const MEMORY_QUEUE_URL = `memory://${QUEUE}`;

/** The broker behind `memory://`: whoever opens the URL in this process shares it. */
export async function startMemoryServer(): Promise<QueueServer> {
  const [queue, nowhere] = [await openQueue(MEMORY_QUEUE_URL), await openQueue(`memory://${NOWHERE}`)];
  return {
    environment: { QUEUE_URL: MEMORY_QUEUE_URL },
    queue,
    nowhere,
    doubleMessage: (messageId) => memoryBroker(QUEUE).acts(QUEUE).duplicate(messageId),
    async stop() {
      await queue.close();
      await nowhere.close();
    },
  };
}
