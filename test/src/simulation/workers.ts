import { createWorker } from "@leasehold/core";
import { definitionsOf } from "./definitions.ts";
import type { Host } from "./host.ts";
import { MAX_CLOCK_SKEW_MS } from "./plan.ts";
import { TASK_TYPES } from "./programs.ts";
import { createDice } from "./random.ts";
import type { World } from "./world.ts";

/** A worker in a process of its own. */
export interface WorkerProcess {
  readonly host: Host;
  readonly knowsAll: boolean;
  readonly stopping: boolean;
  /** A stop in order; resolves when the worker has stopped. */
  stop(): Promise<void>;
  /** What it still has after its stop; empty when it has let go of everything. */
  leftovers(): string;
}

/** The places at which workers run: each has one, and gets a new one when that is gone. */
export interface Fleet {
  readonly workers: readonly WorkerProcess[];
  /** Something happened to the process at this place. */
  at(which: number): WorkerProcess | undefined;
  /** A new version is rolled out at this place: an orderly stop, then another process. */
  deploy(which: number): void;
  /** From here on this many places have a healthy worker that knows all types; the others are closed in order. */
  heal(keep: number): void;
}

const RESTART_MS = 1_500;

export function createFleet(world: World): Fleet {
  const { plan, network } = world;
  const places: WorkerProcess[] = [];
  const incarnations: number[] = [];
  /** Places that have a worker once the faults have stopped. */
  let kept: number | undefined;

  function start(place: number): void {
    const incarnation = incarnations[place] ?? 0;
    incarnations[place] = incarnation + 1;
    const name = `w${place}.${incarnation}`;
    const host = world.host(name);
    const dice = createDice(plan.seed, `worker ${name}`);
    // In a rolling deploy one version does not know a type yet.
    const unknown = kept === undefined && dice.chance(0.1) ? dice.pick(TASK_TYPES) : undefined;
    places[place] = startWorker(world, host, unknown);
    world.context.log("worker starts", name);
  }

  /** An orderly stop, then another process. One that dies while it stops is followed by another as well. */
  function roll(place: number): void {
    const process = places[place];
    if (process === undefined || !process.host.alive || process.stopping) return;
    void process.stop().then(() => {
      process.host.kill();
    });
  }

  /** Starts another process where one has gone. */
  function supervise(): void {
    for (const [place, process] of places.entries()) {
      if (!process.host.alive && place < (kept ?? places.length)) start(place);
    }
    network.setTimer(RESTART_MS, supervise);
  }

  for (let place = 0; place < plan.workers; place++) start(place);
  supervise();

  const at = (which: number): WorkerProcess | undefined => places[Math.floor(which * plan.workers)];

  return {
    workers: places,
    at,
    deploy: (which) => roll(Math.floor(which * plan.workers)),
    heal(keep) {
      kept = keep;
      for (const [place, process] of places.entries()) if (place >= keep || !process.knowsAll) roll(place);
    },
  };
}

function startWorker(world: World, host: Host, unknownType: string | undefined): WorkerProcess {
  const { plan, context } = world;
  const definitions = definitionsOf({
    host,
    external: world.external,
    observer: world.model.handlers,
    programOf: (number) => (plan.tasks[number] as (typeof plan.tasks)[number]).program,
  });
  const { queue, store } = world.connect(host);
  const worker = createWorker({
    queue,
    store,
    tasks: Object.values(definitions).filter((task) => task.type !== unknownType),
    concurrency: plan.concurrency,
    name: host.name,
    maxClockSkew: MAX_CLOCK_SKEW_MS,
    recoverAfter: plan.recoverAfterMs,
    stop: 4_000,
    orderHold: 5_000,
    hungAfter: 40_000,
    clock: host.clock,
    entropy: host.entropy,
    telemetry: world.telemetry,
    logger: {
      info: () => undefined,
      warn: (message) => world.count(`warning: ${message}`),
      error: (message, fields) => {
        world.count(`error: ${message}`);
        context.log("error", host.name, message, JSON.stringify(fields ?? {}));
      },
    },
  });
  const stopping = new AbortController();
  const run = worker.run({ signal: stopping.signal }).catch((error: unknown) => {
    // A hung handler: the supervisor kills the process.
    context.log("worker gave up", host.name, String(error));
    world.count("worker gave up");
    host.kill();
  });
  return {
    host,
    knowsAll: unknownType === undefined,
    get stopping() {
      return stopping.signal.aborted;
    },
    async stop() {
      stopping.abort();
      await run;
    },
    leftovers() {
      const { leases, deliveries } = worker.state;
      return [leases > 0 ? `${leases} leases` : "", deliveries > 0 ? `${deliveries} deliveries` : ""]
        .filter((text) => text !== "")
        .join(", ");
    },
  };
}
