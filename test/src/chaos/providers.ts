import type { QueueDriver } from "@leasehold/core/driver";
import {
  type BrokerActs,
  type Emulator,
  type FaultError,
  startPubsub,
  startServicebus,
  startSqs,
} from "@leasehold/emulators";
import { createPubsubQueue } from "@leasehold/pubsub";
import { createServicebusQueue } from "@leasehold/servicebus";
import { createSqsQueue } from "@leasehold/sqs";
import { awsConfigOf, SETTINGS } from "./ground.ts";

export interface ChaosBroker extends Emulator {
  acts(queue: string): BrokerActs;
}

/** A broker for a chaos run. */
export interface ChaosProvider {
  /** Starts its server, with a queue. */
  start(): Promise<ChaosBroker>;
  /** A driver of that queue by way of this port. */
  openQueue(port: number): QueueDriver;
  /** How it says that it is asked too often. */
  readonly throttled: FaultError;
}

export const providers: Readonly<Record<string, ChaosProvider>> = {
  sqs: {
    async start() {
      const server = await startSqs();
      server.createQueue(SETTINGS.name);
      return server;
    },
    openQueue: (port) =>
      createSqsQueue({ queueUrl: `http://127.0.0.1:${port}/000000000000/${SETTINGS.name}`, client: awsConfigOf(port) }),
    throttled: { code: "RequestThrottled" },
  },
  pubsub: {
    async start() {
      const server = await startPubsub();
      server.createSubscription(SETTINGS.name, {
        topic: server.createTopic(SETTINGS.name),
        enableExactlyOnceDelivery: true,
      });
      return server;
    },
    openQueue: (port) =>
      createPubsubQueue({
        project: "local",
        topic: SETTINGS.name,
        subscription: SETTINGS.name,
        exactlyOnce: true,
        client: { projectId: "local", apiEndpoint: `127.0.0.1:${port}`, emulatorMode: true },
      }),
    throttled: { code: "RESOURCE_EXHAUSTED" },
  },
  servicebus: {
    async start() {
      const server = await startServicebus();
      server.createQueue(SETTINGS.name, { lockDurationMs: 5_000, maxDeliveryCount: 1_000 });
      return server;
    },
    openQueue: (port) =>
      createServicebusQueue({
        queue: SETTINGS.name,
        client: {
          connectionString: `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=local;SharedAccessKey=local;UseDevelopmentEmulator=true`,
        },
      }),
    throttled: { code: "com.microsoft:server-busy" },
  },
};
