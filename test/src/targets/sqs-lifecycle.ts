import { ListMessageMoveTasksCommand, StartMessageMoveTaskCommand } from "@aws-sdk/client-sqs";
import type { QueueDriver } from "@leasehold/core/driver";
import { type SqsEmulator, startSqs } from "@leasehold/emulators";
import { createClients, createSqsQueue, type SqsClients } from "@leasehold/sqs";
import type { LifecycleHarness } from "../lifecycle/harness.ts";
import type { BrokerPort } from "../lifecycle/world.ts";
import { awsConfig } from "./aws.ts";
import type { Sides } from "./played-lifecycle.ts";
import type { PlayedServer } from "./played-server.ts";
import { arnOf, makeQueue, type SqsQueue } from "./sqs-side.ts";

export interface SqsLifecycleVariant {
  readonly fifo: boolean;
}

/** More deliveries than any case makes. */
const MANY_DELIVERIES = 1_000;
/** A move of dead letters has its own pace. */
const MOVE_MS = 1_000;

/** The SQS driver on the embedded server. */
export function sqsQueues({ fifo }: SqsLifecycleVariant): Sides["queues"] {
  return async (timeline, played) => {
    const sqs = await startSqs({ clock: timeline.clock() });
    const clients = createClients(awsConfig(sqs.endpoint));
    const drivers: QueueDriver[] = [];
    return {
      cannot: cannotOf(fifo),
      async make(name, { keepMs }) {
        const shape = { name, fifo, deadLetters: true, maxDeliveries: MANY_DELIVERIES };
        const queue = await makeQueue(clients.control, { ...shape, ...(keepMs !== undefined && { keepMs }) });
        return {
          connect() {
            const driver = createSqsQueue({ ...queue, clients, clock: timeline.clock() });
            drivers.push(driver);
            return driver;
          },
          broker: brokerOf({ sqs, clients, played }, queue),
        };
      },
      async stop() {
        for (const driver of drivers) await driver.close();
        for (const each of [clients.poll, clients.control]) each.destroy();
        await sqs.stop();
      },
    };
  };
}

interface SqsServer {
  readonly sqs: SqsEmulator;
  readonly clients: SqsClients;
  readonly played: PlayedServer;
}

/** What can be done to a queue of the embedded server. */
function brokerOf({ sqs, clients, played }: SqsServer, { queueUrl, deadLetterUrl = "" }: SqsQueue): BrokerPort {
  const { control } = clients;

  function countDeadLetters(): number {
    const { visible, inFlight, delayed } = sqs.acts(deadLetterUrl).counts();
    return visible + inFlight + delayed;
  }

  return {
    async act(act, messageId) {
      return sqs.acts(queueUrl)[act === "dead-letter by count" ? "deadLetterByCount" : act](messageId);
    },
    messageIds: async () => sqs.acts(queueUrl).messageIds(),
    async redriveByHand() {
      const move = { SourceArn: await arnOf(control, deadLetterUrl), DestinationArn: await arnOf(control, queueUrl) };
      await control.send(new StartMessageMoveTaskCommand(move));
      await played.wait(MOVE_MS);
      const tasks = await control.send(new ListMessageMoveTasksCommand({ SourceArn: move.SourceArn, MaxResults: 1 }));
      return tasks.Results?.[0]?.ApproximateNumberOfMessagesMoved ?? 0;
    },
    async counts() {
      const { visible, inFlight, delayed } = sqs.acts(queueUrl).counts();
      return { visible, leased: inFlight, delayed, deadLetters: countDeadLetters() };
    },
    stop: sqs.pause,
    start: sqs.resume,
  };
}

/** What SQS cannot be made to do; the ids are those of provider-facts. */
function cannotOf(fifo: boolean): LifecycleHarness["cannot"] {
  return {
    "total lease": "SQS holds a message for up to 12 h from receive, and no setting changes that (SQS-05)",
    "short delay": "SQS hides a message for up to 12 h, and no setting changes that (SQS-02)",
    ...(fifo
      ? { duplicate: "a FIFO queue delivers no message twice" }
      : {
          ordering: "a standard queue keeps no order",
          "tell a lost lease": "a standard queue answers a stale handle as it answers a live one (SQS-06 to SQS-09)",
        }),
  };
}
