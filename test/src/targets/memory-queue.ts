import assert from "node:assert/strict";
import { LeaseholdError, type QueueDriver } from "@leasehold/core/driver";
import {
  createMemoryBroker,
  createMemoryQueue,
  createTimeline,
  type Fault,
  type FaultScript,
  type QueueSettings,
  withFaults,
} from "@leasehold/core/memory";
import type { Ability, QueueFault, QueueHarness, QueueWishes } from "../queue/harness.ts";
import type { HarnessSource } from "../suite/run.ts";

const FAULTS: Readonly<Record<QueueFault, Fault>> = {
  throttled: { error: new LeaseholdError("ResourceExhausted", "too many requests") },
  "request lost": { drop: "before" },
  "answer lost": { drop: "after" },
};

/** The memory driver on a clock that the cases move, over a broker with these settings. */
export function memoryQueueSource(settings: Partial<QueueSettings>): HarnessSource<QueueHarness> {
  return { open: async () => memoryQueueHarness(settings) };
}

function memoryQueueHarness(settings: Partial<QueueSettings>): QueueHarness {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const broker = createMemoryBroker({ clock, accessKey: "right" });
  const drivers: QueueDriver[] = [];
  let queues = 0;

  function connect(name: string, script: FaultScript = () => undefined, accessKey = "right"): QueueDriver {
    const driver = withFaults(createMemoryQueue({ name, broker, accessKey }), clock, script);
    drivers.push(driver);
    return driver;
  }

  function make(wishes: QueueWishes = {}): string {
    const name = `queue-${++queues}`;
    broker.createQueue(name, { ...settings, ...wishes });
    return name;
  }

  return {
    has: new Set(["time", "faults", "restart", "credentials", "shortLease"]),
    minLeaseMs: settings.fixedLeaseMs ?? 1_000,
    toleranceMs: 0,
    overheadBytes: 0,
    cannot: cannotOf(settings),
    wait: timeline.advance,
    until: timeline.until,
    async open(wishes) {
      const name = make(wishes);
      const next = new Map<string, Fault>();
      const driver = connect(name, ({ name: call }) => {
        const fault = next.get(call);
        next.delete(call);
        return fault;
      });
      return {
        driver,
        another: async () => connect(name),
        failNext: (call, fault) => next.set(call, FAULTS[fault]),
        async act(act, messageId) {
          const done = act === "redrive by hand" ? broker.redriveByHand(name) > 0 : broker.acts(name)[act](messageId);
          assert.ok(done, `the broker had nothing to ${act}`);
        },
        stop: async () => broker.stop(),
        start: async () => broker.start(),
      };
    },
    openMissing: async () => connect("no-such-queue"),
    openWithWrongCredentials: async () => connect(make(), undefined, "wrong"),
    async close() {
      for (const driver of drivers) await driver.close();
      await timeline.settle();
      assert.equal(timeline.pendingTimers(), 0, "timers were left behind");
    },
  };
}

function cannotOf(settings: Partial<QueueSettings>): Readonly<Partial<Record<Ability, string>>> {
  return {
    ...(settings.fixedLeaseMs !== undefined && { "chosen lease": "this broker fixes the length of its leases" }),
    ...(settings.deadLetter === "store" && {
      "dead letters": "this queue has no dead-letter queue: the record is the dead letter",
    }),
  };
}
