import { randomUUID } from "node:crypto";
import type { QueueDriver } from "@leasehold/core/driver";
import { createPubsubQueue, openPubsubQueue } from "@leasehold/pubsub";
import type { QueueHarness, QueueWishes } from "../queue/harness.ts";
import { cannotOf, deleteQueue, MANY_DELIVERIES, makeQueue, type PubsubQueue, type PubsubSide } from "./pubsub-side.ts";

export interface PubsubVariant {
  readonly exactlyOnce?: boolean;
  readonly ordering?: boolean;
  /** Default true. */
  readonly deadLetters?: boolean;
}

/** What is beside the body of the suite's messages: `content-type`, `application/json`. */
const OVERHEAD_BYTES = 12 + 16;

/** The Pub/Sub driver on one side, with queues of this kind. */
export function pubsubQueueHarness(side: PubsubSide, variant: PubsubVariant): QueueHarness {
  const { exactlyOnce = false, ordering: isOrdered = false, deadLetters = true } = variant;
  const { project } = side;
  const admin = side.connect();
  const drivers: QueueDriver[] = [];
  const queues: PubsubQueue[] = [];

  async function make({ ordering = isOrdered, maxDeliveries = MANY_DELIVERIES }: QueueWishes = {}) {
    const shape = { name: `suite-${randomUUID()}`, exactlyOnce, ordering, deadLetters, maxDeliveries };
    const queue = await makeQueue(admin, project, shape);
    queues.push(queue);
    return { ...queue, exactlyOnce, deadLetterExactlyOnce: exactlyOnce, ordering, project };
  }

  function kept(driver: QueueDriver): QueueDriver {
    drivers.push(driver);
    return driver;
  }

  /** Without a call, so that it can be made when the server is away. */
  function connect(queue: Awaited<ReturnType<typeof make>>, clients = side.connect()): QueueDriver {
    return kept(createPubsubQueue({ ...queue, clients, ...side.time }));
  }

  return {
    ...side,
    overheadBytes: OVERHEAD_BYTES,
    cannot: { ...side.cannot, ...cannotOf(exactlyOnce, isOrdered, deadLetters) },
    async open(wishes) {
      const queue = await make(wishes);
      const { topic, subscription, deadLetterSubscription } = queue;
      const driver = await openPubsubQueue({
        project,
        topic,
        subscription,
        ...(deadLetterSubscription !== undefined && { deadLetterSubscription }),
        clients: side.connect(),
        ...side.time,
      });
      return {
        ...side,
        driver: kept(driver),
        another: async () => connect(queue),
        act: (act, messageId) => side.act(act, queue, messageId),
      };
    },
    async openMissing() {
      const queue = await make();
      const missing = (name: string): string => name.replace("suite-", "missing-");
      return connect({ ...queue, topic: missing(queue.topic), subscription: missing(queue.subscription) });
    },
    openWithWrongCredentials: async () => connect(await make(), side.connect("wrong")),
    async close() {
      for (const driver of drivers) await driver.close();
      if (side.isShared) for (const queue of queues) await deleteQueue(admin, project, queue);
      await side.close();
    },
  };
}
