import { startGooglePubsub } from "../peers/google-pubsub.ts";
import { queueSuites } from "../queue/all.ts";
import type { QueueHarness } from "../queue/harness.ts";
import { type Difference, withDifferences } from "../suite/differences.ts";
import { type CaseResult, type HarnessSource, type Part, part, type Target } from "../suite/run.ts";
import { differences, orderDifferences } from "./pubsub-google-differences.ts";
import { type PubsubVariant, pubsubQueueHarness } from "./pubsub-queue.ts";
import { remoteSide } from "./pubsub-remote.ts";
import { REAL_TIME } from "./real-time.ts";

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
