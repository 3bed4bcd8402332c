import {
  type AnyTask,
  createWorker,
  type Entropy,
  type QueueDriver,
  type TaskStore,
  type Telemetry,
} from "@leasehold/core";
import type { Injection } from "./injection.ts";
import { createMortal, type Mortal } from "./mortal.ts";

/** Workers that share a queue. One that dies is replaced, as a supervisor would. */
export interface Fleet {
  /** How many died. */
  readonly deaths: number;
  /** Rejects when a worker ends by itself. */
  readonly failed: Promise<never>;
  /** One that lives dies, as a process that is killed. */
  kill(name: string): Promise<void>;
  /** Stops those that live, in order. */
  stop(): Promise<void>;
}

export interface FleetOptions {
  /** Each worker has connections of its own, as each process has. */
  readonly openQueue: () => Promise<QueueDriver>;
  readonly openStore: () => Promise<TaskStore>;
  readonly injection: Injection;
  /** What the worker of this name does. */
  readonly tasksOf: (name: string) => readonly AnyTask[];
  readonly telemetry: Telemetry;
  readonly entropy: Entropy;
  readonly recoverAfterMs: number;
}

export const SIZE = 3;
const CONCURRENCY = 4;
export const REPLACED_AFTER_MS = 1_000;
/** Workers of one machine share one clock; the default is 2 s. */
export const MAX_CLOCK_SKEW_MS = 200;

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { injection, tasksOf, telemetry, entropy, recoverAfterMs } = options;
  const stopping = new AbortController();
  const running = new Map<Mortal, Promise<void>>();
  const replacements = new Set<NodeJS.Timeout>();
  let started = 0;
  let deaths = 0;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Raced by the demo while it runs; after that nobody waits for it.
  failed.catch(() => undefined);

  async function start(): Promise<void> {
    started += 1;
    const [ownQueue, ownStore] = [await options.openQueue(), await options.openStore()];
    const mortal = createMortal(`worker-${started}`, () => {
      deaths += 1;
      running.delete(mortal);
      // The connections of a killed process break.
      ownQueue.close().catch(fail);
      const timer = setTimeout(() => {
        replacements.delete(timer);
        if (!stopping.signal.aborted) start().catch(fail);
      }, REPLACED_AFTER_MS);
      replacements.add(timer);
    });
    const { queue, store } = injection.forWorker(mortal, ownQueue, ownStore);
    const worker = createWorker({
      queue,
      store,
      tasks: tasksOf(mortal.name),
      concurrency: CONCURRENCY,
      name: mortal.name,
      maxClockSkew: MAX_CLOCK_SKEW_MS,
      recoverAfter: recoverAfterMs,
      stop: "5s",
      telemetry,
      clock: mortal.clock,
      entropy,
    });
    const run = worker.run({ signal: stopping.signal });
    run.catch(fail);
    running.set(mortal, run);
  }

  for (let index = 0; index < SIZE; index++) await start();
  return {
    get deaths() {
      return deaths;
    },
    failed,
    async kill(name) {
      const mortal = [...running.keys()].find((each) => each.name === name);
      if (mortal === undefined) throw new Error(`there is no ${name} that runs`);
      mortal.die();
    },
    async stop() {
      stopping.abort();
      for (const timer of replacements) clearTimeout(timer);
      await Promise.all(running.values());
    },
  };
}
