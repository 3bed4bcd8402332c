import type { QueueDriver } from "@leasehold/core/driver";
import type { Harness } from "../suite/case.ts";

/**
 * What a target offers to the queue cases. Each `open` makes a queue of its own, so that cases do not meet. Times go by
 * `minLeaseMs` and `toleranceMs`; a call that itself takes time is awaited through `until`.
 */
export interface QueueHarness extends Harness {
  /** Makes a queue as the case wishes and a client of it. */
  open(wishes?: QueueWishes): Promise<OpenQueue>;
  /** A client of a queue that does not exist. */
  openMissing(): Promise<QueueDriver>;
  /** A client that the broker refuses. Need: `credentials`. */
  openWithWrongCredentials(): Promise<QueueDriver>;
  /** Awaits a call that takes time by the target's clock. */
  until<T>(call: Promise<T>): Promise<T>;
  /** Bytes of a message that the broker counts beside its body. */
  readonly overheadBytes: number;
  /** What this target cannot be made to do, each with the reason. */
  readonly cannot: Readonly<Partial<Record<Ability, string>>>;
}

/** What a target may be unable to do although the contract is silent about it. */
export type Ability =
  | "ordering"
  | "dead letters"
  | "duplicate detection"
  /** Two messages of one id that are both delivered. */
  | "repeated ids"
  | "delivery limit"
  | "total lease"
  /** A lease that outlives the connection on which it was taken. */
  | "lost connection"
  | "count"
  | BrokerAct
  /** A lease length that the caller chooses. */
  | "chosen lease";

/** What a broker may do by itself. */
export type BrokerAct =
  /** Ends a lease early. */
  | "expire"
  /** Delivers a message that is still leased once more. */
  | "duplicate"
  /** Moves all dead letters back, as an operator's console would. */
  | "redrive by hand";

export interface QueueWishes {
  /** Ordering keys are kept. */
  readonly ordering?: boolean;
  /** The broker itself dead-letters after this many deliveries. */
  readonly maxDeliveries?: number;
  /** No hold is longer in all, ms; a target whose own ceiling cannot be moved has that one. */
  readonly totalLeaseMs?: number;
  /** A repeated id is swallowed within this time, ms. */
  readonly duplicateWindowMs?: number;
}

export interface OpenQueue {
  readonly driver: QueueDriver;
  /** One more client of the same queue. */
  another(): Promise<QueueDriver>;
  /** Need: `faults`. What happens to the next call of this name by `driver`. */
  failNext(call: FaultyVerb, fault: QueueFault): void;
  /** Makes the broker do something by itself. */
  act(act: BrokerAct, messageId: string): Promise<void>;
  /** Need: `restart`. Calls fail until `start`; messages stay. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export type FaultyVerb = "send" | "receive" | "extend" | "settle";

/** `throttled`: refused. `request lost`: nothing was applied. `answer lost`: it was applied, and nobody hears of it. */
export type QueueFault = "throttled" | "request lost" | "answer lost";
