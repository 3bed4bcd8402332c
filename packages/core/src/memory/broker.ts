import { type Clock, systemClock } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import { type BrokerActs, type BrokerQueue, createBrokerQueue } from "./broker-queue.ts";
import type { QueueCounts } from "./inventory.ts";
import { copyOf } from "./message.ts";
import { type QueueSettings, queueSettings } from "./settings.ts";

/**
 * A broker in memory: named queues with leases, shared by all clients that hold it. It is a process of its own: it goes by
 * its own clock and knows nothing of its clients' ones. Time passes for it whether anybody asks it or not.
 */
export interface MemoryBroker {
  /** Makes a queue. Throws `Conflict` when there is one of this name, `InvalidArgument` for settings that cannot be. */
  createQueue(name: string, settings?: Partial<QueueSettings>): void;
  /** How a queue is set up; `undefined` when there is none. */
  settings(name: string): QueueSettings | undefined;
  /** What a client gets. Throws `Unavailable` (stopped), `PermissionDenied` (another access key), `NotFound`. */
  connect(name: string, accessKey: string | undefined): QueuePair;
  /** What the broker may do to messages by itself; for tests and simulation. Throws `NotFound`. */
  acts(name: string): BrokerActs;
  /** Moves every visible dead letter back as an operator's console would, marks and all. Answers how many. */
  redriveByHand(name: string): number;
  counts(name: string): QueueCounts & { readonly deadLetters: number };
  /** Every call fails with `Unavailable`, waiting ones included. Messages stay, leases and delays run on. */
  stop(): void;
  start(): void;
}

/** A queue and, where it has one, the queue of its dead letters. */
export interface QueuePair {
  readonly main: BrokerQueue;
  readonly dead: BrokerQueue | undefined;
}

export interface MemoryBrokerOptions {
  /** The broker's own clock. Default: the machine's. */
  readonly clock?: Clock;
  /** What clients must show. Default: anybody may call. */
  readonly accessKey?: string;
}

/** More than a person looks at in one go, so that a redrive by hand moves everything. */
const ALL = Number.MAX_SAFE_INTEGER;
const HAND_LEASE_MS = 1_000;

export function createMemoryBroker(options: MemoryBrokerOptions = {}): MemoryBroker {
  const clock = options.clock ?? systemClock;
  const queues = new Map<string, QueuePair & { readonly settings: QueueSettings }>();
  let running = true;

  function pair(name: string): QueuePair {
    const found = queues.get(name);
    if (found !== undefined) return found;
    throw new LeaseholdError(
      "NotFound",
      `memory broker: there is no queue ${JSON.stringify(name)}: make it with createQueue`,
    );
  }

  return {
    createQueue(name, given) {
      if (queues.has(name)) {
        throw new LeaseholdError("Conflict", `memory broker: there is a queue ${JSON.stringify(name)} already`);
      }
      const settings = queueSettings(given);
      const dead =
        settings.deadLetter === "store"
          ? undefined
          : createBrokerQueue(`${name}.dead`, queueSettings({ ordering: false }), clock, () => {});
      const main = createBrokerQueue(name, settings, clock, (content, marks) => {
        dead?.send([{ content: { ...content, attributes: { ...content.attributes, ...marks } }, delayMs: 0 }]);
      });
      queues.set(name, { main, dead, settings });
    },
    settings: (name) => queues.get(name)?.settings,
    connect(name, accessKey) {
      if (!running) throw new LeaseholdError("Unavailable", "memory broker: it is stopped");
      if (accessKey !== options.accessKey) {
        throw new LeaseholdError(
          "PermissionDenied",
          `memory broker: this access key may not use queue ${JSON.stringify(name)}`,
        );
      }
      return pair(name);
    },
    acts: (name) => pair(name).main.acts,
    redriveByHand(name) {
      const { main, dead } = pair(name);
      const taken = dead?.take({ max: ALL, leaseMs: HAND_LEASE_MS }) ?? [];
      if (taken === "full") return 0;
      for (const delivery of taken) {
        main.send([{ content: copyOf(delivery, delivery.messageId, delivery.attributes), delayMs: 0 }]);
        dead?.complete(delivery.token);
      }
      return taken.length;
    },
    counts(name) {
      const { main, dead } = pair(name);
      return { ...main.counts(), deadLetters: dead?.counts().visible ?? 0 };
    },
    stop() {
      running = false;
      const error = new LeaseholdError("Unavailable", "memory broker: it was stopped");
      for (const { main, dead } of queues.values()) for (const queue of [main, dead]) queue?.dismiss(error);
    },
    start() {
      running = true;
    },
  };
}

/** Brokers of `memory://name`, for as long as the process lives: that is what a client and a worker opened by URL meet in. */
const shared = new Map<string, MemoryBroker>();

/** The broker behind `memory://<name>`, with a queue of that name: the same one for every caller in this process. */
export function memoryBroker(name: string): MemoryBroker {
  let broker = shared.get(name);
  if (broker === undefined) {
    broker = createMemoryBroker();
    broker.createQueue(name);
    shared.set(name, broker);
  }
  return broker;
}
