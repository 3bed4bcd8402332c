import { createClient, createWorker, type Logger } from "@leasehold/core";
import {
  createTaskStore,
  type Delivery,
  decodeEnvelope,
  type Entropy,
  type ItemStore,
  type QueueDriver,
} from "@leasehold/core/driver";
import type { BrokerAct, BrokerControls, Patience, PlayedClient, PlayedWorker, Timing, World } from "./harness.ts";
import { type BaseClock, createProcess } from "./process.ts";
import { createSystem } from "./system.ts";

/** What a target brings: everything else in a world is the same on all of them. */
export interface WorldParts {
  readonly timing: Timing;
  /** The clock of one more process. */
  clock(options: { readonly wallOffsetMs?: number }): BaseClock;
  /** One more client of the world's queue, for a process with this clock. */
  queue(): QueueDriver;
  /** One more client of the world's database. */
  items(): ItemStore;
  readonly broker: BrokerPort;
  wait(ms: number): Promise<void>;
  until<T>(promise: Promise<T>): Promise<T>;
  /** Asks the condition again and again while time passes; throws when it does not hold within that time. */
  becomes(condition: () => boolean | Promise<boolean>, withinMs: number): Promise<void>;
}

/** What the target can make its broker do, to one message where it is about one. */
export interface BrokerPort extends Omit<BrokerControls, "act"> {
  /** False: there is no such message. */
  act(act: Exclude<BrokerAct, "redrive by hand">, messageId: string): Promise<boolean>;
  /** Of everything that is there. */
  messageIds(): Promise<readonly string[]>;
}

export interface OpenedWorld extends World {
  /** Stops every worker that still runs, and finds fault with what they leave behind. */
  close(): Promise<void>;
}

const DEFAULT_PATIENCE_MS = 6 * 3_600_000;

export function createWorld(parts: WorldParts): OpenedWorld {
  const { timing } = parts;
  const clock = parts.clock({});
  const items = parts.items();
  const store = createTaskStore({ items });
  const workers: PlayedWorker[] = [];
  const entropy = createEntropy();
  const postbox = createPostbox();
  const shared = { entropy, recoverAfter: timing.recoverAfterMs };

  const process = (options: { readonly wallOffsetMs?: number }) =>
    createProcess(
      {
        clock: parts.clock(options.wallOffsetMs === undefined ? {} : { wallOffsetMs: options.wallOffsetMs }),
        queue: postbox.watch(parts.queue()),
        items: parts.items(),
      },
      options,
    );

  /** Those that nobody has seen yet are known by ids that begin with the task's, where the broker keeps a sender's ids. */
  function messagesOf(taskId: string, there: readonly string[]): readonly string[] {
    const named = there.filter((messageId) => messageId.split(".")[0] === taskId);
    return [...new Set([...postbox.messagesOf(taskId), ...named])];
  }

  const until = ((what: Promise<unknown> | (() => boolean | Promise<boolean>), options: Patience = {}) =>
    typeof what === "function"
      ? parts.becomes(what, options.withinMs ?? DEFAULT_PATIENCE_MS)
      : parts.until(what)) as World["until"];

  const world: OpenedWorld = {
    timing,
    system: createSystem(clock),
    store,
    items,
    queue: postbox.watch(parts.queue()),
    broker: {
      ...parts.broker,
      async act(act, taskId) {
        let done = false;
        const there = await parts.broker.messageIds();
        const messageIds = taskId === undefined ? there : messagesOf(taskId, there);
        // Leases that end together: from the last one on, as a first that ends alone could be received alone.
        for (const messageId of act === "expire" ? messageIds.toReversed() : messageIds)
          done = (await parts.broker.act(act, messageId)) || done;
        if (!done)
          throw new Error(`the broker has no message${taskId === undefined ? "" : ` of task ${taskId}`} to ${act}`);
      },
    },
    now: () => clock.now(),
    wait: parts.wait,
    until,
    client({ faults, wallOffsetMs, ...options } = {}): PlayedClient {
      const played = process({ ...(faults && { faults }), ...(wallOffsetMs !== undefined && { wallOffsetMs }) });
      const client = createClient({
        ...shared,
        queue: played.queue,
        store: played.store,
        clock: played.clock,
        ...options,
      });
      return Object.defineProperties({ client } as PlayedClient, Object.getOwnPropertyDescriptors(played));
    },
    worker(name, { faults, wallOffsetMs, runs = true, ...options }) {
      const played = process({ ...(faults && { faults }), ...(wallOffsetMs !== undefined && { wallOffsetMs }) });
      const { logger, lines } = createLog();
      const { queue, deliveries } = listened(played.queue);
      const worker = createWorker({
        ...shared,
        name,
        queue,
        store: played.store,
        clock: played.clock,
        logger,
        maxClockSkew: timing.maxClockSkewMs,
        ...options,
      });
      const stopping = new AbortController();
      const running = runs ? worker.run({ signal: stopping.signal }) : Promise.resolve();
      // A case that expects a rejection awaits `running` itself.
      running.catch(() => undefined);
      const own = {
        name,
        worker,
        deliveries,
        log: lines,
        running,
        async stop() {
          stopping.abort();
          await parts.until(running);
        },
      };
      const one = Object.defineProperties(own as unknown as PlayedWorker, Object.getOwnPropertyDescriptors(played));
      workers.push(one);
      return one;
    },
    async record(taskId) {
      const record = await store.get(taskId);
      if (record === undefined) throw new Error(`there is no record of task ${taskId}`);
      return record;
    },
    async reaches(taskId, is, options = {}) {
      const holds = typeof is === "function" ? is : ({ status }: { readonly status: string }) => status === is;
      try {
        await until(async () => holds(await world.record(taskId)), options);
      } catch (error) {
        const { status, stage, attempt, end_reason, last_error } = await world.record(taskId);
        const state = JSON.stringify({ status, stage, attempt, end_reason, last_error });
        throw new Error(
          `task ${taskId} did not become ${typeof is === "function" ? "as it should" : is}; it is ${state}`,
          { cause: error },
        );
      }
      return world.record(taskId);
    },
    async close() {
      for (const worker of workers) {
        if (worker.dead) continue;
        await worker.stop();
        const { leases, deliveries } = worker.worker.state;
        if (leases > 0 || deliveries > 0)
          throw new Error(
            `worker ${worker.name} has stopped and still has ${leases} leases and ${deliveries} deliveries`,
          );
      }
    },
  };
  return world;
}

/** Which broker messages are about which task: by what was sent, and by what came. */
function createPostbox(): { watch(queue: QueueDriver): QueueDriver; messagesOf(taskId: string): readonly string[] } {
  const taskIds = new Map<string, string>();
  return {
    messagesOf: (taskId) => [...taskIds].filter(([, id]) => id === taskId).map(([messageId]) => messageId),
    watch: (queue) => ({
      ...queue,
      async send(messages, options) {
        const outcomes = await queue.send(messages, options);
        outcomes.forEach((outcome, index) => {
          const [taskId] = (messages[index]?.id ?? "").split(".");
          if (outcome.status === "confirmed" && outcome.messageId !== undefined)
            taskIds.set(outcome.messageId, taskId ?? "");
        });
        return outcomes;
      },
      async receive(options) {
        const received = await queue.receive(options);
        for (const { messageId, body, contentType } of received) {
          const decoded = decodeEnvelope(body, contentType);
          if (decoded.ok) taskIds.set(messageId, decoded.event.id);
        }
        return received;
      },
    }),
  };
}

/** A worker's queue that remembers what came. */
function listened(queue: QueueDriver): { readonly queue: QueueDriver; readonly deliveries: Delivery[] } {
  const deliveries: Delivery[] = [];
  return {
    deliveries,
    queue: {
      ...queue,
      async receive(options) {
        const received = await queue.receive(options);
        deliveries.push(...received);
        return received;
      },
    },
  };
}

function createLog(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const note =
    (level: string): Logger["warn"] =>
    (message, fields) =>
      void lines.push(`${level}: ${message} ${JSON.stringify(fields ?? {})}`);
  return { lines, logger: { info: () => undefined, warn: note("warn"), error: note("error") } };
}

/** The same run each time: a small generator for jitter, counted tokens. */
function createEntropy(): Entropy {
  let state = 1;
  let tokens = 0;
  return {
    random() {
      state = (state + 0x9e3779b9) | 0;
      const mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
      return ((Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97) ^ (mixed >>> 15)) >>> 0) / 4_294_967_296;
    },
    token: () => `token-${++tokens}-of-this-world`,
  };
}
