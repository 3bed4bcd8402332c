import type { EmulatorClock } from "../clock.ts";
import { invalidParameter, invalidValue, SqsError } from "./errors.ts";
import type { Message } from "./message.ts";
import { createQueue, type Queue, type QueueOptions } from "./queue.ts";
import { defaultAttributes, mergeAttributes, type QueueAttributes, settingsOf } from "./queue-attributes.ts";

export const REGION = "us-east-1";
export const ACCOUNT_ID = "000000000000";
const ARN_PREFIX = `arn:aws:sqs:${REGION}:${ACCOUNT_ID}:`;
const QUEUE_NAME = /^[A-Za-z0-9_-]{1,80}$/;
const FIFO_NAME = /^[A-Za-z0-9_-]{1,75}\.fifo$/;

/** A queue under its name. */
export interface NamedQueue {
  readonly name: string;
  readonly arn: string;
  readonly queue: Queue;
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly attributes: QueueAttributes;
}

/** All queues of the server. */
export interface Broker {
  readonly clock: EmulatorClock;
  /** Making one again with the same attributes answers the one that is there. Throws `QueueNameExists` when they differ. */
  create(name: string, attributes: QueueAttributes): NamedQueue;
  /** Throws `QueueDoesNotExist`. */
  get(name: string): NamedQueue;
  /** By ARN; `undefined` when there is none. */
  find(arn: string): NamedQueue | undefined;
  /** By name, in alphabetical order. */
  list(): readonly NamedQueue[];
  /** Those whose redrive policy names this queue. */
  sourcesOf(arn: string): readonly NamedQueue[];
  configure(name: string, changes: QueueAttributes): void;
  delete(name: string): void;
  /** Moves a message to another queue as it is, count and all (SQS-51); false when there is no such queue. */
  bury(message: Message, source: string, targetArn: string): boolean;
  /** Ends long polls and timers of all queues. */
  close(): void;
}

export function createBroker(clock: EmulatorClock, options: QueueOptions): Broker {
  const queues = new Map<string, NamedQueue>();

  function get(name: string): NamedQueue {
    const found = queues.get(name);
    if (found !== undefined) return found;
    throw new SqsError("QueueDoesNotExist", "The specified queue does not exist.");
  }

  function find(arn: string): NamedQueue | undefined {
    return arn.startsWith(ARN_PREFIX) ? queues.get(arn.slice(ARN_PREFIX.length)) : undefined;
  }

  function bury(message: Message, source: string, targetArn: string): boolean {
    const target = find(targetArn);
    if (target === undefined) return false;
    const { content, receiveCount, firstReceivedAt } = message;
    // A standard queue's message goes on ageing in the dead-letter queue; a FIFO queue's begins anew.
    const sentAt = target.queue.settings().isFifo ? clock.now() : message.sentAt;
    target.queue.moveIn(content, { sentAt, receiveCount, firstReceivedAt, deadLetterSourceArn: source });
    return true;
  }

  /** Checks a redrive policy against the queues that there are. */
  function checkRedrive(attributes: QueueAttributes): void {
    const { redrive, isFifo } = settingsOf(attributes);
    if (redrive === undefined) return;
    const target = find(redrive.deadLetterTargetArn);
    if (target === undefined) {
      throw invalidValue(attributes["RedrivePolicy"], "RedrivePolicy", "Dead letter target does not exist.");
    }
    if (target.queue.settings().isFifo !== isFifo) {
      throw invalidValue(
        attributes["RedrivePolicy"],
        "RedrivePolicy",
        "Dead-letter queue must be same type of queue as the source.",
      );
    }
  }

  function checkName(name: string, isFifo: boolean): void {
    if ((isFifo ? FIFO_NAME : QUEUE_NAME).test(name)) return;
    throw invalidParameter(
      isFifo
        ? "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length"
        : "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
    );
  }

  return {
    clock,
    create(name, given) {
      const isFifo = given["FifoQueue"] === "true";
      checkName(name, isFifo);
      const present = queues.get(name);
      if (present !== undefined) {
        if (Object.entries(given).every(([key, value]) => present.attributes[key] === value)) return present;
        throw new SqsError(
          "QueueNameExists",
          "A queue already exists with the same name and a different value for an attribute.",
        );
      }
      const attributes = mergeAttributes(defaultAttributes(), given, isFifo);
      checkRedrive(attributes);
      const arn = `${ARN_PREFIX}${name}`;
      const queue = createQueue(clock, settingsOf(attributes), options, (message, targetArn) =>
        bury(message, arn, targetArn),
      );
      const createdAt = clock.now();
      const made = { name, arn, queue, createdAt, modifiedAt: createdAt, attributes };
      queues.set(name, made);
      return made;
    },
    get,
    find,
    list: () => [...queues.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
    sourcesOf: (arn) =>
      [...queues.values()].filter(({ queue }) => queue.settings().redrive?.deadLetterTargetArn === arn),
    configure(name, changes) {
      const old = get(name);
      const { isFifo } = old.queue.settings();
      if ((changes["FifoQueue"] ?? String(isFifo)) !== String(isFifo)) {
        throw new SqsError("InvalidAttributeValue", "Invalid value for the parameter FifoQueue.");
      }
      const attributes = mergeAttributes(old.attributes, changes, isFifo);
      checkRedrive(attributes);
      queues.set(name, { ...old, attributes, modifiedAt: clock.now() });
      old.queue.configure(settingsOf(attributes));
    },
    delete(name) {
      get(name).queue.close();
      queues.delete(name);
    },
    bury,
    close() {
      for (const { queue } of queues.values()) queue.close();
    },
  };
}
