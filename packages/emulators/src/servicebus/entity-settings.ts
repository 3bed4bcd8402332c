/** How a queue or a subscription of a topic behaves. Facts of the entity, which no client can choose per call (SB-02). */
export interface EntitySettings {
  /** How long a lock lasts, and how much each renewal gives, ms. Default 60,000; at most 300,000 (SB-02). */
  readonly lockDurationMs?: number;
  /** After so many deliveries that failed, a message is dead-lettered. Default 10 (SB-32). */
  readonly maxDeliveryCount?: number;
  /** Messages belong to sessions, and are received one session at a time. Default false. */
  readonly requiresSession?: boolean;
  /** The longest that a message stays, ms. Default: for ever. */
  readonly defaultTimeToLiveMs?: number;
  /** A message whose time is over goes to the dead letters instead of vanishing. Default false. */
  readonly deadLetterOnExpiration?: boolean;
  /** Drops messages whose id was sent within this, ms (SB-44). Default: none are dropped. */
  readonly duplicateDetectionWindowMs?: number;
  /** Default 262,144 (SB-43). */
  readonly maxMessageBytes?: number;
}

/** A topic only takes messages in, so that the rest is for its subscriptions to say. */
export type TopicSettings = Pick<EntitySettings, "duplicateDetectionWindowMs" | "maxMessageBytes">;
