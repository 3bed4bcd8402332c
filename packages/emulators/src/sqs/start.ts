import { steadyClock } from "../clock.ts";
import { startFront } from "../http/front.ts";
import type { Emulator, HttpEmulatorOptions } from "../shape.ts";
import { createActs, type SqsActs } from "./acts.ts";
import { ACCOUNT_ID, createBroker } from "./broker.ts";
import type { StaleHandles } from "./queue.ts";
import type { QueueAttributes } from "./queue-attributes.ts";
import { createSqsService } from "./service.ts";

export interface SqsOptions extends HttpEmulatorOptions, Partial<StaleHandles> {
  /** How many messages of a queue may be in flight. Default 120,000 (SQS-70). */
  readonly inFlightLimit?: number;
  /** Leave out the header `x-amzn-query-error`, as some servers do: SDKs then show other error names (SQS-21). Default false. */
  readonly omitQueryError?: boolean;
}

export interface SqsEmulator extends Emulator {
  /** Makes a queue, as `CreateQueue` does; `FifoQueue` is set for a name that ends in `.fifo`. Answers its URL. */
  createQueue(name: string, attributes?: QueueAttributes): string;
  /** What can be done to the messages of a queue. Takes its name or URL; throws when there is none. */
  acts(queue: string): SqsActs;
}

const IN_FLIGHT_LIMIT = 120_000;

/** Starts an SQS server on 127.0.0.1. It speaks AWS JSON 1.0, and keeps everything in memory. */
export async function startSqs(options: SqsOptions = {}): Promise<SqsEmulator> {
  const clock = options.clock ?? steadyClock;
  const broker = createBroker(clock, {
    staleChange: options.staleChange ?? "ok",
    staleDelete: options.staleDelete ?? "ignored",
    inFlightLimit: options.inFlightLimit ?? IN_FLIGHT_LIMIT,
  });
  const service = createSqsService(broker, {
    endpoint: () => emulator.endpoint,
    omitQueryError: options.omitQueryError ?? false,
  });
  const emulator = await startFront(service, options);
  return {
    ...emulator,
    createQueue(name, attributes = {}) {
      const isFifo = name.endsWith(".fifo");
      broker.create(name, isFifo ? { FifoQueue: "true", ...attributes } : attributes);
      return `${emulator.endpoint}/${ACCOUNT_ID}/${name}`;
    },
    acts: (queue) => createActs(broker.get(queue.slice(queue.lastIndexOf("/") + 1)), broker.bury),
  };
}
