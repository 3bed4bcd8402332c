import type { PubsubOptions } from "@leasehold/emulators";
import { queueSuites } from "../queue/all.ts";
import type { QueueHarness } from "../queue/harness.ts";
import { type HarnessSource, part, type Target } from "../suite/run.ts";
import { embeddedSide } from "./pubsub-embedded.ts";
import { type PubsubVariant, pubsubQueueHarness } from "./pubsub-queue.ts";
import { remoteSide } from "./pubsub-remote.ts";
import { REAL_TIME } from "./real-time.ts";

interface Variant extends PubsubVariant {
  readonly server?: PubsubOptions;
}

const variants: Readonly<Record<string, Variant>> = {
  pubsub: {},
  /** The other answer to an ack after the deadline: nobody may rely on either (PS-02). */
  "pubsub/stale-ignored": { server: { staleAck: "ignored" } },
  "pubsub/exactly-once": { exactlyOnce: true },
  "pubsub/ordered": { ordering: true },
  "pubsub/exactly-once-ordered": { exactlyOnce: true, ordering: true },
  "pubsub/no-dead-letters": { deadLetters: false },
};

/** The Pub/Sub driver and a server of its own for each case, or the server at the endpoint that was asked for. */
function source({ server = {}, ...variant }: Variant): HarnessSource<QueueHarness> {
  return {
    pace: ({ endpoint }) => (endpoint === undefined ? undefined : REAL_TIME),
    open: async ({ endpoint }) =>
      pubsubQueueHarness(endpoint === undefined ? await embeddedSide(server) : remoteSide({ endpoint }), variant),
  };
}

export const pubsubTargets: readonly Target[] = Object.entries(variants).map(([name, variant]) => ({
  name,
  parts: [part("queue", queueSuites, source(variant))],
}));
