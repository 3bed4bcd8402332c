import { randomUUID } from "node:crypto";
import { DeleteQueueCommand } from "@aws-sdk/client-sqs";
import type { QueueDriver } from "@leasehold/core/driver";
import type { SqsOptions } from "@leasehold/emulators";
import { createSqsQueue, openSqsQueue } from "@leasehold/sqs";
import type { QueueHarness, QueueWishes } from "../queue/harness.ts";
import type { HarnessSource } from "../suite/run.ts";
import { REAL_TIME } from "./real-time.ts";
import { embeddedSide } from "./sqs-embedded.ts";
import { remoteSide } from "./sqs-remote.ts";
import { cannotOf, makeQueue, type SqsQueue, type SqsSide } from "./sqs-side.ts";

export interface SqsVariant extends SqsOptions {
  readonly fifo?: boolean;
  /** Default true. */
  readonly deadLetters?: boolean;
}

/** What is beside the body of the suite's messages: `content-type`, `String`, `application/json`. */
const OVERHEAD_BYTES = 12 + 6 + 16;
/** More deliveries than any case makes, unless it asks for fewer. */
const MANY_DELIVERIES = 1_000;

/** The SQS driver and a server of its own for each case, or the server at the endpoint that was asked for. */
export function sqsQueueSource(variant: SqsVariant): HarnessSource<QueueHarness> {
  return {
    pace: ({ endpoint }) => (endpoint === undefined ? undefined : REAL_TIME),
    open: async ({ endpoint }) =>
      sqsQueueHarness(endpoint === undefined ? await embeddedSide(variant) : remoteSide(endpoint), variant),
  };
}

function sqsQueueHarness(side: SqsSide, { fifo = false, deadLetters = true }: SqsVariant): QueueHarness {
  const { control } = side.connect();
  const drivers: QueueDriver[] = [];
  const queues: SqsQueue[] = [];

  async function make({ ordering = fifo, maxDeliveries = MANY_DELIVERIES }: QueueWishes = {}): Promise<SqsQueue> {
    const shape = { name: `suite-${randomUUID()}`, fifo: ordering, deadLetters, maxDeliveries };
    const queue = await makeQueue(control, shape);
    queues.push(queue);
    return queue;
  }

  function kept(driver: QueueDriver): QueueDriver {
    drivers.push(driver);
    return driver;
  }

  /** Without a call, so that it can be made when the server is away. */
  function connect(queue: SqsQueue, clients = side.connect()): QueueDriver {
    return kept(createSqsQueue({ ...queue, clients, ...side.time }));
  }

  return {
    ...side,
    overheadBytes: OVERHEAD_BYTES,
    cannot: { ...side.cannot, ...cannotOf(fifo, deadLetters) },
    async open(wishes) {
      const queue = await make(wishes);
      const driver = await openSqsQueue({ queue: queue.queueUrl, clients: side.connect(), ...side.time });
      return {
        ...side,
        driver: kept(driver),
        another: async () => connect(queue),
        act: (act, messageId) => side.act(act, queue, messageId),
      };
    },
    async openMissing() {
      const { queueUrl } = await make();
      return connect({ queueUrl: queueUrl.replace("suite-", "missing-") });
    },
    openWithWrongCredentials: async () => connect(await make(), side.connect("wrong")),
    async close() {
      for (const driver of drivers) await driver.close();
      const urls = side.isShared ? queues.flatMap((queue) => Object.values<string>({ ...queue })) : [];
      for (const QueueUrl of urls) await control.send(new DeleteQueueCommand({ QueueUrl }));
      await side.close();
    },
  };
}
