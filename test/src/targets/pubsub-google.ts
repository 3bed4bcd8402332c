import { startGooglePubsub } from "../peers/google-pubsub.ts";
import { queueSuites } from "../queue/all.ts";
import type { QueueHarness } from "../queue/harness.ts";
import { type Difference, withDifferences } from "../suite/differences.ts";
import { type CaseResult, type HarnessSource, type Part, part, type Target } from "../suite/run.ts";
import { type PubsubVariant, pubsubQueueHarness } from "./pubsub-queue.ts";
import { remoteSide } from "./pubsub-remote.ts";
import { REAL_TIME } from "./real-time.ts";

/** What the emulator leaves out of the service; each of these was seen with its version 0.8.20. */
const LIMITATIONS = "https://cloud.google.com/pubsub/docs/emulator#known_limitations";
const ORDER = "https://cloud.google.com/pubsub/docs/ordering";

const differences: Readonly<Record<string, Difference>> = {
  "a malformed token fails with its own code, whatever the verb, and changes nothing": {
    reason: "its ack ids are counted, so that one which was cut short is another one's and taken",
    link: LIMITATIONS,
  },
  "closing a client ends its wait and no other one": {
    reason:
      "it hands messages to a pull whose caller has gone, and they come again at the subscription's deadline only",
    link: LIMITATIONS,
  },
};

/** Where it is to keep order, beside those. */
const orderDifferences: Readonly<Record<string, Difference>> = {
  "a batch given back, last first, comes again in order": {
    reason: "it delivers again in the order in which messages were given back, not in that of their key",
    link: ORDER,
  },
  "a head that is given back while later ones of its key are out comes first again": {
    reason: "it holds a message back for as long as later ones of its key are out",
    link: ORDER,
  },
  "messages of one receive have leases of their own": {
    reason:
      "where it keeps order, messages without a key are of one key to it: one that lapses waits for those before it",
    link: ORDER,
  },
  "one bad entry of a batch fails alone": {
    reason: "where it keeps order, it takes any text for an ack id",
    link: LIMITATIONS,
  },
  "a message delivered as often as the broker allows becomes a dead letter without a fence": {
    reason: "where it keeps order, it fails at forwarding a message without a key, and answers UNKNOWN from then on",
    link: LIMITATIONS,
  },
};

/** One of the kinds of subscription that the emulator knows; all on one emulator. */
interface Kind extends PubsubVariant {
  readonly part: string;
  readonly differences: Readonly<Record<string, Difference>>;
}

const kinds: readonly Kind[] = [
  { part: "queue", differences },
  { part: "queue, exactly-once", exactlyOnce: true, differences },
  { part: "queue, ordered", ordering: true, differences: { ...differences, ...orderDifferences } },
];

/** Starts the emulator, and runs every kind on it side by side; where it is not installed, that is the reason of a skip. */
const googlePart: Part = {
  name: "queue",
  async run(target, options) {
    const google = await startGooglePubsub();
    if (google.missing !== undefined) return [notRun(target, google.missing)];
    const { endpoint } = google;
    try {
      const runs = kinds.map(({ part: name, differences: known, ...variant }) => {
        const source: HarnessSource<QueueHarness> = {
          pace: () => REAL_TIME,
          open: async () => pubsubQueueHarness(remoteSide({ endpoint }), variant),
        };
        return part(name, withDifferences(queueSuites, known), source).run(target, options);
      });
      return (await Promise.all(runs)).flat();
    } finally {
      await google.stop();
    }
  },
};

function notRun(target: string, reason: string): CaseResult {
  return { target, part: "queue", subject: "all", name: "all", status: "skipped", reason, durationMs: 0 };
}

export const pubsubGoogleTargets: readonly Target[] = [{ name: "pubsub-google", parts: [googlePart] }];
