import assert from "node:assert/strict";
import {
  createMemoryBroker,
  createMemoryItems,
  createMemoryQueue,
  createTimeline,
  type MemoryBroker,
  type ProcessClock,
  type QueueSettings,
  type Timeline,
} from "@leasehold/core/memory";
import type { LifecycleHarness, Timing } from "../lifecycle/harness.ts";
import type { BaseClock } from "../lifecycle/process.ts";
import { type BrokerPort, createWorld, type OpenedWorld } from "../lifecycle/world.ts";
import type { HarnessSource } from "../suite/run.ts";

/** Time is free here, so it is what users have: the defaults. */
const TIMING: Timing = {
  leaseMs: 60_000,
  recoverAfterMs: 300_000,
  maxClockSkewMs: 2_000,
  backoff: { base: 5_000, cap: 600_000 },
};

/** Workers and clients on a clock that the cases move, over a memory broker with these settings and memory items. */
export function memoryLifecycleSource(settings: Partial<QueueSettings>): HarnessSource<LifecycleHarness> {
  return { open: async () => memoryLifecycleHarness(settings) };
}

function memoryLifecycleHarness(settings: Partial<QueueSettings>): LifecycleHarness {
  const timeline = createTimeline();
  const broker = createMemoryBroker({ clock: timeline.clock() });
  const worlds: OpenedWorld[] = [];
  return {
    has: new Set(["time", "faults", "restart", "shortLease"]),
    minLeaseMs: 1_000,
    toleranceMs: 0,
    cannot: {
      ...(Object.keys(settings).length > 0 && { "many tasks": "it is played on the plain memory target" }),
      ...(settings.deadLetter === "store" && {
        "redrive by hand": "this queue has no dead-letter queue",
        "dead-letter by count": "this queue has no dead-letter queue",
      }),
      ...((settings.staleExtend ?? "lost") !== "lost" && {
        "tell a lost lease": "this broker answers as if the lease were held",
      }),
      ...(settings.countsDeliveries === false && { "count deliveries": "this broker does not count deliveries" }),
      ...(settings.maxAbandonDelayMs === 0 && { "delay an abandon": "this broker gives back at once" }),
    },
    wait: timeline.advance,
    async open({ totalLeaseMs, maxDelayMs, keepMs } = {}) {
      const name = `queue-${worlds.length + 1}`;
      broker.createQueue(name, {
        ...settings,
        ...(totalLeaseMs !== undefined && { totalLeaseMs }),
        ...(keepMs !== undefined && { retentionMs: keepMs }),
        ...(maxDelayMs !== undefined && { maxSendDelayMs: maxDelayMs, maxAbandonDelayMs: maxDelayMs }),
      });
      const items = createMemoryItems();
      const world = createWorld({
        timing: TIMING,
        clock: (options) => playedClock(timeline.clock(options)),
        queue: () => createMemoryQueue({ name, broker }),
        items: () => items,
        broker: controlsOf(broker, name),
        wait: timeline.advance,
        until: timeline.until,
        becomes: (condition, withinMs) => becomes(timeline, condition, withinMs),
      });
      worlds.push(world);
      return world;
    },
    async close() {
      for (const world of worlds) await world.close();
      await timeline.settle();
      assert.equal(timeline.pendingTimers(), 0, "timers were left behind");
    },
  };
}

function playedClock(clock: ProcessClock): BaseClock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimer: (delayMs, callback) => clock.setTimer(delayMs, callback),
    controls: clock,
  };
}

/** Goes from timer to timer until the condition holds. */
async function becomes(
  timeline: Timeline,
  condition: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const end = timeline.now() + withinMs;
  await timeline.settle();
  while (!(await condition())) {
    if (timeline.now() > end) throw new Error(`the condition did not hold within ${withinMs} ms`);
    if (!(await timeline.runNext())) throw new Error("the condition does not hold, and no timer is left");
  }
}

function controlsOf(broker: MemoryBroker, name: string): BrokerPort {
  return {
    async act(act, messageId) {
      const acts = broker.acts(name);
      return act === "dead-letter by count" ? acts.deadLetterByCount(messageId) : acts[act](messageId);
    },
    messageIds: async () => broker.acts(name).messageIds(),
    redriveByHand: async () => broker.redriveByHand(name),
    counts: async () => broker.counts(name),
    stop: async () => broker.stop(),
    start: async () => broker.start(),
  };
}
