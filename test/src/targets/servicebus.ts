import { queueSuites } from "../queue/all.ts";
import type { QueueHarness } from "../queue/harness.ts";
import { type HarnessSource, part, type Target } from "../suite/run.ts";
import { REAL_TIME } from "./real-time.ts";
import { embeddedSide } from "./servicebus-embedded.ts";
import { type ServicebusVariant, servicebusQueueHarness } from "./servicebus-queue.ts";
import { remoteSide } from "./servicebus-remote.ts";

const variants: Readonly<Record<string, ServicebusVariant>> = {
  servicebus: {},
  "servicebus/sessions": { sessions: true },
  "servicebus/topic": { kind: "subscription" },
};

/** The Service Bus driver and a server of its own for each case, or the one that the connection string names. */
function source(variant: ServicebusVariant): HarnessSource<QueueHarness> {
  return {
    pace: ({ connectionString }) => (connectionString === undefined ? undefined : REAL_TIME),
    open: async ({ connectionString }) =>
      servicebusQueueHarness(
        connectionString === undefined ? await embeddedSide() : remoteSide(connectionString),
        variant,
      ),
  };
}

export const servicebusTargets: readonly Target[] = Object.entries(variants).map(([name, variant]) => ({
  name,
  parts: [part("queue", queueSuites, source(variant))],
}));
