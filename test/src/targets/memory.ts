import type { QueueSettings } from "@leasehold/core/memory";
import { lifecycleSuites } from "../lifecycle/all.ts";
import { queueSuites } from "../queue/all.ts";
import { storeSuites } from "../store/all.ts";
import { part, type Target } from "../suite/run.ts";
import { memoryLifecycleSource } from "./memory-lifecycle.ts";
import { memoryQueueSource } from "./memory-queue.ts";
import { memoryStoreSource } from "./memory-store.ts";

const MINUTE_MS = 60_000;

/** The memory broker with the manners of each cloud: what holds on all of them is what a driver's user can rely on. */
const variants: Readonly<Record<string, Partial<QueueSettings>>> = {
  /** SQS standard: a former holder's calls still have effect, a hold is at most 12 h. */
  "stale-succeeds": {
    staleComplete: "succeeds",
    staleExtend: "revives",
    settleConfirmation: "unconfirmed",
    totalLeaseMs: 720 * MINUTE_MS,
    deadLetter: "copy",
  },
  /** Pub/Sub without exactly-once: everything is answered as if it were applied. */
  "stale-ignored": {
    staleComplete: "ignored",
    staleExtend: "ignored",
    settleConfirmation: "unconfirmed",
    countsDeliveries: false,
    maxLeaseMs: 10 * MINUTE_MS,
    maxSendDelayMs: 0,
    maxAbandonDelayMs: 10 * MINUTE_MS,
    deadLetter: "copy",
  },
  /** A broker that says lost about a change of visibility, and still lets a late complete through. */
  "stale-mixed": { staleComplete: "succeeds", staleExtend: "lost", maxAbandonDelayMs: 0, maxBatch: 3 },
  /** Service Bus: it fixes the length of a lease, delays by copy, and says what was lost. */
  "fixed-lease": { fixedLeaseMs: MINUTE_MS, abandonDelay: "copy", deadLetterReasonBytes: 4_096 },
  /** A queue without a dead-letter queue. */
  "no-dead-letters": { deadLetter: "store" },
};

export const memoryTargets: readonly Target[] = [
  {
    name: "memory",
    parts: [
      part("queue", queueSuites, memoryQueueSource({})),
      part("store", storeSuites, memoryStoreSource),
      part("lifecycle", lifecycleSuites, memoryLifecycleSource({})),
    ],
  },
  ...Object.entries(variants).map(([name, settings]) => ({
    name: `memory/${name}`,
    parts: [
      part("queue", queueSuites, memoryQueueSource(settings)),
      part("lifecycle", lifecycleSuites, memoryLifecycleSource(settings)),
    ],
  })),
];
