import assert from "node:assert/strict";
import type { ItemStore, QueueDriver } from "@leasehold/core/driver";
import { createTimeline, type Timeline } from "@leasehold/core/memory";
import type { LifecycleHarness, Timing, WorldWishes } from "../lifecycle/harness.ts";
import { type BrokerPort, createWorld, type OpenedWorld } from "../lifecycle/world.ts";
import type { HarnessSource } from "../suite/run.ts";
import { type PlayedServer, playServer } from "./played-server.ts";

/** An embedded broker behind real sockets: one half of a lifecycle target. */
export interface QueueSide {
  /** What it cannot be made to do, each with the reason and the fact. */
  readonly cannot: LifecycleHarness["cannot"];
  /** Makes a queue of its own for a world. */
  make(name: string, wishes: WorldWishes): Promise<SideQueue>;
  /** Ends the clients, then the server. */
  stop(): Promise<void>;
}

export interface SideQueue {
  /** One more driver of this queue. The side closes it. */
  connect(): QueueDriver;
  readonly broker: BrokerPort;
}

/** Where the records are: the other half. */
export interface ItemsSide {
  /** Items of its own for a world. The side closes them. */
  make(name: string): Promise<ItemStore>;
  stop(): Promise<void>;
}

/** How the halves of a target are started: servers go by the timeline, and what time cannot see is waited for through `played`. */
export interface Sides {
  /** What a client may wait in real time between two steps, ms. Default 0. */
  readonly pauseMs?: number;
  queues(timeline: Timeline, played: PlayedServer): Promise<QueueSide>;
  items(timeline: Timeline, played: PlayedServer): Promise<ItemsSide>;
}

/** Time is free here, so it is what users have: the defaults. */
const TIMING: Timing = {
  leaseMs: 60_000,
  recoverAfterMs: 300_000,
  maxClockSkewMs: 2_000,
  backoff: { base: 5_000, cap: 600_000 },
};

/** Workers and clients on a clock that the cases move, over any queue and any store. */
export function playedLifecycleSource(sides: Sides): HarnessSource<LifecycleHarness> {
  return { open: () => playedLifecycleHarness(sides) };
}

async function playedLifecycleHarness(sides: Sides): Promise<LifecycleHarness> {
  const timeline = createTimeline();
  const played = playServer(timeline, sides);
  const queues = await sides.queues(timeline, played);
  const stores = await sides.items(timeline, played);
  const worlds: OpenedWorld[] = [];

  /** The servers end also when a world finds fault with what was left behind. */
  async function endAll(): Promise<void> {
    try {
      for (const world of worlds) await world.close();
    } finally {
      await queues.stop();
      await stores.stop();
      played.end();
    }
  }

  return {
    has: new Set(["time", "faults", "restart", "shortLease"]),
    minLeaseMs: 1_000,
    toleranceMs: 0,
    cannot: { "many tasks": "it is played on the plain memory target", ...queues.cannot },
    wait: played.wait,
    async open(wishes = {}) {
      const name = `world-${worlds.length + 1}`;
      const queue = await queues.make(name, wishes);
      const items = await stores.make(name);
      const world = createWorld({
        timing: TIMING,
        clock(options) {
          const controls = timeline.clock(options);
          const { now, monotonic, setTimer } = controls;
          return { now, monotonic, setTimer, controls };
        },
        queue: queue.connect,
        items: () => items,
        broker: queue.broker,
        ...played,
      });
      worlds.push(world);
      return world;
    },
    async close() {
      await endAll();
      await timeline.settle();
      assert.equal(timeline.pendingTimers(), 0, "timers were left behind");
    },
  };
}
