import type { ErrorCode, LeaseholdError } from "../errors.ts";

/**
 * The contract of a queue adapter: a thin, honest picture of one broker. A driver has no retries, timers, logs, caches or
 * policy; core has them, once. Every call is batch-shaped and every item of a batch has its own outcome. Drivers judge
 * nothing: whether a lease still holds is decided by the task record, and by core's clock.
 */
export interface QueueDriver {
  /** `memory`, `sqs`, `pubsub`, `servicebus`, … */
  readonly provider: string;
  /** The queue's name. It is part of every task id and of the event source, so it must not change between deployments. */
  readonly queue: string;
  readonly capabilities: Capabilities;
  /** Sends messages, in order. At most `capabilities.maxBatch` at a time. */
  send(
    messages: readonly OutgoingMessage[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly SendOutcome[]>;
  /**
   * Waits until one message is there, at most `waitMs`, and returns what there is, at most `max`. Never holds a locked
   * message that nobody asked for. An abort ends the wait with an empty answer and strands nothing for longer than one lease.
   * Throws {@link LeaseholdError}: `NotFound` (no such queue), `PermissionDenied`, `ResourceExhausted` (throttled, or too many in
   * flight), `Unavailable`, `InvalidArgument` (an option out of its range). The other verbs throw the same where the call as
   * a whole is refused, `InvalidArgument` for a batch of more than `capabilities.maxBatch`.
   */
  receive(options: ReceiveOptions): Promise<readonly Delivery[]>;
  /** Sets the broker's deadline of each delivery to `leaseMs` from now. */
  extend(items: readonly ExtendItem[]): Promise<readonly Outcome[]>;
  /** Completes, abandons or dead-letters deliveries. */
  settle(items: readonly SettleItem[]): Promise<readonly Outcome[]>;
  /** How many messages are visible, about; absent where the broker cannot say. Asked once a recovery tick. */
  countVisible?(): Promise<number>;
  /** Dead letters as the broker keeps them; absent where `capabilities.deadLetter` is `store`. */
  readonly deadLetters?: DeadLetters;
  /** Frees connections. Later calls throw `Unavailable`. Idempotent. */
  close(): Promise<void>;
}

/** What a broker can do, as data. Declared means that it works; undeclared means `Unsupported`. Both are tested. */
export interface Capabilities {
  /** The longest broker lease that one call can ask for, ms. */
  readonly maxLeaseMs: number;
  /** Set where the broker alone decides the length of a lease (Service Bus), ms. */
  readonly fixedLeaseMs?: number;
  /** The longest total hold from receive, ms; absent: none. SQS: 12 h (SQS-05). */
  readonly totalLeaseMs?: number;
  /** Does an answer to a settle prove that it was applied? */
  readonly settleConfirmation: "confirmed" | "unconfirmed";
  /** Items of one call. */
  readonly maxBatch: number;
  /** The longest delay of a sent message, ms; 0: none. */
  readonly maxSendDelayMs: number;
  /** The longest delay of an abandon, ms. */
  readonly maxAbandonDelayMs: number;
  /** `native`: the broker moves it. `copy`: send a copy, then complete. `store`: no dead-letter queue, the record is the dead letter. */
  readonly deadLetter: "native" | "copy" | "store";
  /** Bytes of a dead-letter reason. */
  readonly deadLetterReasonBytes: number;
  /** Bytes of one message as the queue has it configured; what core puts into one stays 8 KiB below. */
  readonly maxMessageBytes: number;
  /** Are ordering keys kept? */
  readonly ordering: boolean;
  /** `call`: a settle is a call. `return`: the runtime settles by what the handler returns (push). */
  readonly settle: "call" | "return";
  /** The vendor's page for each number. */
  readonly sources: Readonly<Partial<Record<Exclude<keyof Capabilities, "sources">, string>>>;
}

/** A message to be sent. */
export interface OutgoingMessage {
  /** Used for duplicate detection where the broker has it. Printable ASCII, at most 128 characters. */
  readonly id: string;
  /** CloudEvents JSON text; see `encodeEnvelope`. */
  readonly body: string;
  readonly contentType: string;
  /** At most 9, beside the content type: SQS takes ten of both (SQS-45). Values non-empty text. */
  readonly attributes?: Readonly<Record<string, string>>;
  /** At most `capabilities.maxSendDelayMs`. With an ordering key: `Unsupported`. */
  readonly delayMs?: number;
  readonly orderingKey?: string;
}

export type SendOutcome =
  | { readonly status: "confirmed" /** The broker's id, where it has one. */; readonly messageId?: string }
  | { readonly status: "unconfirmed"; readonly error: LeaseholdError }
  | { readonly status: "failed"; readonly code: ErrorCode; readonly error: LeaseholdError };

export interface ReceiveOptions {
  /** 1..`capabilities.maxBatch`. */
  readonly max: number;
  /** How long to wait for the first message, ms; 0: do not wait. */
  readonly waitMs: number;
  /** The broker lease to ask for, ms; ignored where `fixedLeaseMs` is set. */
  readonly leaseMs: number;
  readonly signal?: AbortSignal;
}

/** One hand-over of one message. */
export interface Delivery {
  /** The delivery token: SQS receipt handle, Pub/Sub ackId, Service Bus lock token. One per delivery. */
  readonly token: string;
  /** The broker's id of the message: the same for each delivery of one message. */
  readonly messageId: string;
  readonly body: string;
  readonly contentType?: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Normalised count of deliveries, first = 1; absent where the broker does not count. Decide nothing by it. */
  readonly deliveryCount?: number;
  /** The broker's time of sending, ms since the epoch, where it says. */
  readonly sentAt?: number;
  readonly orderingKey?: string;
  /** How long the broker holds it from the moment `receive` returned, ms. */
  readonly leaseMs: number;
}

export interface ExtendItem {
  readonly delivery: Delivery;
  readonly leaseMs: number;
}

export type SettleItem =
  | { readonly verb: "complete"; readonly delivery: Delivery }
  | {
      readonly verb: "abandon";
      readonly delivery: Delivery;
      /** 0..`capabilities.maxAbandonDelayMs`. */
      readonly delayMs: number;
      /** Id of the copy, where the broker delays by copy. */
      readonly copyId: string;
    }
  | {
      readonly verb: "dead-letter";
      readonly delivery: Delivery;
      readonly reason: DeadLetterReason;
      /** Id of the copy, where the broker dead-letters by copy. */
      readonly copyId: string;
      /** Stamped on the dead letter as the attribute `deadletterfence`, so that a hand-made redrive is recognised. */
      readonly fence?: number;
    };

/** Why a message was dead-lettered. */
export interface DeadLetterReason {
  /** `unknown_type`, `attempts_exhausted`, … */
  readonly code: string;
  /** For a person. Reduced to printable text and clipped by the driver. */
  readonly text: string;
}

/**
 * `confirmed`: applied. `unconfirmed`: may have been applied. `lost`: the broker says that this delivery is no longer held.
 * `failed`: not applied.
 */
export type Outcome =
  | { readonly status: "confirmed" }
  | { readonly status: "unconfirmed"; readonly error?: LeaseholdError }
  | { readonly status: "lost" }
  | { readonly status: "failed"; readonly code: ErrorCode; readonly error: LeaseholdError };

/** A message in the dead-letter queue. */
export interface DeadLetter {
  readonly delivery: Delivery;
  readonly reason?: DeadLetterReason;
  /** The fence stamped when leasehold dead-lettered it. */
  readonly fence?: number;
}

/** A bounded, leased look at the broker's dead letters. */
export interface DeadLetters {
  /** Takes up to `max` dead letters under a lease of `leaseMs`; they come back when it lapses. */
  look(options: { readonly max: number; readonly leaseMs: number }): Promise<readonly DeadLetter[]>;
  /** Sends each back to the queue, then removes it from the dead letters. */
  redrive(items: readonly DeadLetter[]): Promise<readonly Outcome[]>;
  /** Removes each for good. */
  purge(items: readonly DeadLetter[]): Promise<readonly Outcome[]>;
}
