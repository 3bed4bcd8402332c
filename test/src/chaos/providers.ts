import type { QueueDriver } from "@leasehold/core/driver";
import { type Emulator, type FaultError, startSqs } from "@leasehold/emulators";
import { createSqsQueue } from "@leasehold/sqs";
import { awsConfigOf, SETTINGS } from "./ground.ts";

/** A broker for a chaos run. */
export interface ChaosProvider {
  /** Starts its server, with a queue. */
  start(): Promise<Emulator>;
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
};
