import type { Capabilities } from "@leasehold/core/driver";

const DOCS = "https://learn.microsoft.com/azure/service-bus-messaging";

/** The longest lock that an entity can have (SB-02). */
export const MAX_LOCK_MS = 300_000;
/** What an entity has unless it says otherwise (SB-02). */
export const DEFAULT_LOCK_MS = 60_000;
/**
 * Ours: nothing goes in batches but sends (SB-40), so an item costs a call of its own however many there are. So many calls
 * side by side keep a connection busy, and are fewer than the 100 that a namespace answers at a time.
 */
const MAX_BATCH = 64;
/**
 * Ours: a scheduled message may lie for as long as messages live in the entity, and a longer one is swallowed when it
 * appears. Two weeks are the default of the portal.
 */
const MAX_DELAY_MS = 14 * 86_400_000;
/** Bytes of a reason, and of a description: 4,096 characters is what the other SDKs let pass (SB-36). */
const DEAD_LETTER_REASON_BYTES = 4_096;
/** Of the Basic and Standard tiers (SB-43). */
export const MAX_MESSAGE_BYTES = 262_144;
/** Of these, what AMQP and the properties of our own (id, content type, session) take at most. */
const OVERHEAD_BYTES = 1_024;

/** What a driver has to know of its entity. */
export interface EntitySettings {
  readonly sessions: boolean;
  /** The largest message as the entity counts it, all included. */
  readonly maxMessageBytes: number;
  /** Asked each time: it is corrected by what the first delivery says. */
  readonly lockMs: () => number;
}

export function capabilitiesOf({ sessions, maxMessageBytes, lockMs }: EntitySettings): Capabilities {
  return {
    get maxLeaseMs() {
      return lockMs();
    },
    get fixedLeaseMs() {
      return lockMs();
    },
    settleConfirmation: "confirmed",
    maxBatch: MAX_BATCH,
    maxSendDelayMs: MAX_DELAY_MS,
    maxAbandonDelayMs: MAX_DELAY_MS,
    deadLetter: "native",
    deadLetterReasonBytes: DEAD_LETTER_REASON_BYTES,
    maxMessageBytes: maxMessageBytes - OVERHEAD_BYTES,
    ordering: sessions,
    settle: "call",
    sources: {
      maxLeaseMs: `${DOCS}/message-transfers-locks-settlement`,
      fixedLeaseMs: `${DOCS}/message-transfers-locks-settlement`,
      settleConfirmation: `${DOCS}/message-transfers-locks-settlement`,
      maxBatch: `${DOCS}/service-bus-quotas`,
      maxSendDelayMs: `${DOCS}/message-sequencing`,
      maxAbandonDelayMs: `${DOCS}/message-sequencing`,
      deadLetter: `${DOCS}/service-bus-dead-letter-queues`,
      deadLetterReasonBytes: `${DOCS}/service-bus-quotas`,
      maxMessageBytes: `${DOCS}/service-bus-quotas`,
      ordering: `${DOCS}/message-sessions`,
    },
  };
}

/**
 * How long the entity locks its messages. `lockMs` of the options is a first guess: no message tells it, only a fresh lock
 * does, by the time at which it ends. The longest seen is nearest to it, since each was on its way for a while.
 */
export function createLockLength(firstGuessMs: number): { current(): number; seen(lockMs: number): void } {
  let currentMs = firstGuessMs;
  let isGuess = true;
  return {
    current: () => currentMs,
    seen(lockMs) {
      if (!(lockMs > 0)) return;
      currentMs = Math.min(isGuess ? lockMs : Math.max(currentMs, lockMs), MAX_LOCK_MS);
      isGuess = false;
    },
  };
}
