import type { QueueDriver } from "@leasehold/core";

/**
 * A queue service on this machine, in this process. Beside the queue of the run it has one that nobody receives from: a message that
 * is sent there was taken by the service, and no worker will ever see it.
 */
export interface QueueServer {
  /** What a program needs in its environment to use the queue: `QUEUE_URL`, and what leads an SDK here instead of to the cloud. */
  readonly environment: Readonly<Record<string, string>>;
  /** The queue of the run. */
  readonly queue: QueueDriver;
  readonly nowhere: QueueDriver;
  /** The message is delivered once more. False: it is not there. */
  doubleMessage(messageId: string): boolean;
  /** Closes both queues, then ends the service. */
  stop(): Promise<void>;
}

/** The same for each service: it is a part of the ids of tasks, which a comparison of records needs to be equal. */
export const QUEUE = "agent-run";
export const NOWHERE = "agent-run-nowhere";
