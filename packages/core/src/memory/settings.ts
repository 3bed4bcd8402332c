import { LeaseholdError } from "../errors.ts";

/**
 * What a queue of the memory broker is like. The defaults are an honest broker that keeps what it promises. The switches
 * under *Lies* make it behave as the three clouds do: a program that is right under every combination is right on them.
 */
export interface QueueSettings {
  /** The longest lease of one call, ms. Default 12 h. */
  readonly maxLeaseMs: number;
  /** The broker alone decides how long a lease is (Service Bus, SB-02), ms. Default: the caller asks. */
  readonly fixedLeaseMs: number | undefined;
  /** The longest total hold from receive, ms; an extension is clamped to it (SQS-05). Default: none. */
  readonly totalLeaseMs: number | undefined;
  /** Items of one call. Default 10. */
  readonly maxBatch: number;
  /** The longest delay of a sent message, ms. Default 15 min. */
  readonly maxSendDelayMs: number;
  /** The longest delay of an abandon, ms. Default 12 h. */
  readonly maxAbandonDelayMs: number;
  /** Bytes of body and attributes together. Default 1 MiB. */
  readonly maxMessageBytes: number;
  /** Keep ordering keys? Without, a key is `Unsupported`. Default true. */
  readonly ordering: boolean;
  /** Deliveries after which the broker itself dead-letters a message that comes back. Default: never. */
  readonly maxDeliveries: number | undefined;
  /** A second message of one id is swallowed within this time, ms (SQS-64, SB-44). Default: no detection. */
  readonly duplicateWindowMs: number | undefined;
  /** Age at which a message that nobody holds vanishes, ms. Default: never. */
  readonly retentionMs: number | undefined;
  /**
   * How many messages may be leased at once. Above it a receive that does not wait is `ResourceExhausted`, one that waits
   * gets nothing (SQS-70). Default: any number.
   */
  readonly maxInFlight: number | undefined;
  /** `native`: moved in one step. `copy`: a copy is sent, then the message completed. `store`: there is no dead-letter queue. Default `native`. */
  readonly deadLetter: "native" | "copy" | "store";
  /** Bytes of a dead-letter reason. Default 1024. */
  readonly deadLetterReasonBytes: number;
  /** `copy`: a delayed abandon sends a delayed copy, then completes (SB-33); with an ordering key it is always `native`. Default `native`. */
  readonly abandonDelay: "native" | "copy";
  /** Does it say how often a message was delivered (PS-40)? Default true. */
  readonly countsDeliveries: boolean;

  // Lies

  /** Does an answer to a settle prove anything (PS-20)? Default `confirmed`. */
  readonly settleConfirmation: "confirmed" | "unconfirmed";
  /**
   * A complete, or a dead-letter, with a token that is no longer held: `lost` says so (SB-24), `ignored` is answered as if
   * it were applied (PS-02), `succeeds` removes the message, even from under another holder (SQS-08, SQS-09). Default `lost`.
   */
  readonly staleComplete: "lost" | "ignored" | "succeeds";
  /**
   * An extend or an abandon with a token that is no longer held: `lost` says so, `ignored` is answered as if it were applied,
   * `revives` changes the message's visibility, even from under another holder (SQS-06, SQS-07). Default `lost`.
   */
  readonly staleExtend: "lost" | "ignored" | "revives";
}

const HOUR_MS = 3_600_000;

const DEFAULTS: QueueSettings = {
  maxLeaseMs: 12 * HOUR_MS,
  fixedLeaseMs: undefined,
  totalLeaseMs: undefined,
  maxBatch: 10,
  maxSendDelayMs: HOUR_MS / 4,
  maxAbandonDelayMs: 12 * HOUR_MS,
  maxMessageBytes: 1024 * 1024,
  ordering: true,
  maxDeliveries: undefined,
  duplicateWindowMs: undefined,
  retentionMs: undefined,
  maxInFlight: undefined,
  deadLetter: "native",
  deadLetterReasonBytes: 1024,
  abandonDelay: "native",
  countsDeliveries: true,
  settleConfirmation: "confirmed",
  staleComplete: "lost",
  staleExtend: "lost",
};

/** Fills in the defaults. Throws `InvalidArgument` for a queue that could not exist. */
export function queueSettings(given: Partial<QueueSettings> = {}): QueueSettings {
  const settings = { ...DEFAULTS, ...given };
  for (const [field, value] of Object.entries(settings)) {
    if (typeof value === "number" && !(value >= 0)) throw refuse(field, value, "a number from 0 up");
  }
  for (const field of ["maxBatch", "maxDeliveries", "maxInFlight"] as const) {
    const value = settings[field];
    if (value !== undefined && !(value >= 1)) throw refuse(field, value, "at least 1");
  }
  if (settings.deadLetter === "store" && settings.maxDeliveries !== undefined) {
    throw refuse(
      "maxDeliveries",
      settings.maxDeliveries,
      'none with deadLetter "store", which has no dead-letter queue',
    );
  }
  return settings;
}

function refuse(field: string, value: number, expected: string): LeaseholdError {
  return new LeaseholdError("InvalidArgument", `${field}: expected ${expected}; got ${value}`);
}
