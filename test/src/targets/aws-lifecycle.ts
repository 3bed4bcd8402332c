import assert from "node:assert/strict";
import { createTimeline } from "@leasehold/core/memory";
import type { Ability, LifecycleHarness, Timing } from "../lifecycle/harness.ts";
import { createWorld, type OpenedWorld } from "../lifecycle/world.ts";
import type { HarnessSource } from "../suite/run.ts";
import { type AwsServers, startServers } from "./aws-servers.ts";
import { brokerOf } from "./sqs-broker.ts";

export interface AwsVariant {
  readonly fifo: boolean;
}

/** Time is free here, so it is what users have: the defaults. */
const TIMING: Timing = {
  leaseMs: 60_000,
  recoverAfterMs: 300_000,
  maxClockSkewMs: 2_000,
  backoff: { base: 5_000, cap: 600_000 },
};

/** Workers and clients on a clock that the cases move, over SQS and DynamoDB behind real sockets. */
export function awsLifecycleSource(variant: AwsVariant): HarnessSource<LifecycleHarness> {
  return { open: () => awsLifecycleHarness(variant) };
}

async function awsLifecycleHarness({ fifo }: AwsVariant): Promise<LifecycleHarness> {
  const timeline = createTimeline();
  const servers = await startServers(timeline);
  const { played } = servers;
  const worlds: OpenedWorld[] = [];
  return {
    has: new Set(["time", "faults", "restart", "shortLease"]),
    minLeaseMs: 1_000,
    toleranceMs: 0,
    cannot: cannotOf(fifo),
    wait: played.wait,
    async open({ keepMs } = {}) {
      const name = `world-${worlds.length + 1}`;
      const queue = await servers.makeQueue({ name, fifo, ...(keepMs !== undefined && { keepMs }) });
      const items = await servers.makeItems(name);
      const world = createWorld({
        timing: TIMING,
        clock(options) {
          const controls = timeline.clock(options);
          const { now, monotonic, setTimer } = controls;
          return { now, monotonic, setTimer, controls };
        },
        queue: () => servers.connect(queue),
        items: () => items,
        broker: brokerOf(servers, queue),
        ...played,
      });
      worlds.push(world);
      return world;
    },
    async close() {
      await endAll(worlds, servers);
      await timeline.settle();
      assert.equal(timeline.pendingTimers(), 0, "timers were left behind");
    },
  };
}

/** The servers end also when a world finds fault with what was left behind. */
async function endAll(worlds: readonly OpenedWorld[], servers: AwsServers): Promise<void> {
  try {
    for (const world of worlds) await world.close();
  } finally {
    await servers.stop();
  }
}

/** What SQS cannot be made to do; the ids are those of provider-facts. */
function cannotOf(fifo: boolean): Readonly<Partial<Record<Ability, string>>> {
  return {
    "total lease": "SQS holds a message for up to 12 h from receive, and no setting changes that (SQS-05)",
    "short delay": "SQS hides a message for up to 12 h, and no setting changes that (SQS-02)",
    "many tasks": "it is played on the plain memory target",
    ...(fifo
      ? { duplicate: "a FIFO queue delivers no message twice" }
      : {
          ordering: "a standard queue keeps no order",
          "tell a lost lease": "a standard queue answers a stale handle as it answers a live one (SQS-06 to SQS-09)",
        }),
  };
}
