import { createWorker } from "@leasehold/core";
import { definitionsOf } from "./definitions.ts";
import type { Host } from "./host.ts";
import { RECOVER_AFTER_MS } from "./model/liveness.ts";
import { MAX_CLOCK_SKEW_MS } from "./plan.ts";
import { TASK_TYPES } from "./programs.ts";
import { createDice } from "./random.ts";
import type { World } from "./world.ts";

/** A worker in a process of its own. */
export interface WorkerProcess {
  readonly host: Host;
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
  /** From here on each place has a healthy worker that knows all types. */
  heal(): void;
}

const RESTART_MS = 1_500;

export function createFleet(world: World): Fleet {
  const { plan, network } = world;
  const places: (WorkerProcess | undefined)[] = [];
  const incarnations: number[] = [];
  let healthy = false;

  function start(place: number): void {
    const incarnation = (incarnations[place] = (incarnations[place] ?? -1) + 1);
    const name = `w${place}.${incarnation}`;
    const host = world.host(name);
    const dice = createDice(plan.seed, `worker ${name}`);
    // In a rolling deploy one version does not know a type yet.
    const unknown = !healthy && dice.chance(0.1) ? dice.pick(TASK_TYPES) : undefined;
    places[place] = startWorker(world, host, unknown, () => watch(place));
    world.context.log("worker starts", name);
  }

  /** The worker's process has gone: a supervisor starts another. */
  function watch(place: number): void {
    network.setTimer(RESTART_MS, () => start(place));
  }

  function supervise(place: number): void {
    const process = places[place];
    if (process !== undefined && !process.host.alive) {
      places[place] = undefined;
      watch(place);
    }
    if (!healthy || process?.host.alive === false) network.setTimer(500, () => supervise(place));
  }

  for (let place = 0; place < plan.workers; place++) {
    start(place);
    supervise(place);
  }

  const at = (which: number): WorkerProcess | undefined => places[Math.floor(which * plan.workers)];

  return {
    get workers() {
      return places.filter((process) => process !== undefined);
    },
    at,
    deploy(which) {
      const place = Math.floor(which * plan.workers);
      const process = places[place];
      if (process === undefined || !process.host.alive) return;
      places[place] = undefined;
      void process.stop().then(() => {
        const leftovers = process.leftovers();
        if (leftovers !== "") world.context.fail(9, `${process.host.name} has stopped and still holds ${leftovers}`);
        process.host.kill();
        watch(place);
      });
    },
    heal() {
      healthy = true;
    },
  };
}

function startWorker(world: World, host: Host, unknownType: string | undefined, onHung: () => void): WorkerProcess {
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
    recoverAfter: RECOVER_AFTER_MS,
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
    void onHung;
  });
  return {
    host,
    async stop() {
      stopping.abort();
      await run;
    },
    leftovers() {
      const { leases, deliveries } = worker.state;
      return [leases > 0 ? `${leases} leases` : "", deliveries > 0 ? `${deliveries} deliveries` : ""].filter((text) => text !== "").join(", ");
    },
  };
}
