import type { ItemStore, QueueDriver } from "@leasehold/core/driver";
import type { Timeline } from "@leasehold/core/memory";
import { createDynamoItems, createTable } from "@leasehold/dynamodb";
import { type SqsEmulator, startDynamodb, startSqs } from "@leasehold/emulators";
import { createClients, createSqsQueue, type SqsClients } from "@leasehold/sqs";
import { awsConfig } from "./aws.ts";
import { type PlayedServer, playServer } from "./played-server.ts";
import { makeQueue, type SqsQueue, type SqsQueueShape } from "./sqs-side.ts";

/** The embedded SQS and DynamoDB, and clients of both that time waits for. */
export interface AwsServers {
  readonly played: PlayedServer;
  readonly sqs: SqsEmulator;
  readonly clients: SqsClients;
  makeQueue(shape: Pick<SqsQueueShape, "name" | "fifo" | "keepMs">): Promise<SqsQueue>;
  /** Makes a table. */
  makeItems(table: string): Promise<ItemStore>;
  /** A driver of the queue. */
  connect(queue: SqsQueue): QueueDriver;
  /** Ends everything. */
  stop(): Promise<void>;
}

/** More deliveries than any case makes. */
const MANY_DELIVERIES = 1_000;
/** Of a request to DynamoDB, ms of real time: so long that a slow machine makes no request again. */
const PATIENCE_MS = 120_000;

export async function startServers(timeline: Timeline): Promise<AwsServers> {
  const played = playServer(timeline);
  const sqs = await startSqs({ clock: timeline.clock() });
  const dynamodb = await startDynamodb();
  const clients = createClients(awsConfig(sqs.endpoint));
  const opened: { close(): Promise<void> }[] = [];
  const kept = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one);
    return one;
  };
  return {
    played,
    sqs,
    clients,
    makeQueue: (shape) => makeQueue(clients.control, { ...shape, deadLetters: true, maxDeliveries: MANY_DELIVERIES }),
    async makeItems(table) {
      const config = { ...awsConfig(dynamodb.endpoint), requestHandler: { requestTimeout: PATIENCE_MS } };
      await createTable({ table, config });
      return kept(played.answered(createDynamoItems({ table, config })));
    },
    connect: (queue) => kept(createSqsQueue({ ...queue, clients, clock: timeline.clock() })),
    async stop() {
      for (const one of opened) await one.close();
      for (const each of [clients.poll, clients.control]) each.destroy();
      await sqs.stop();
      await dynamodb.stop();
      played.end();
    },
  };
}
