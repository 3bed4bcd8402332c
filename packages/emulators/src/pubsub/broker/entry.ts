import type { Heap, Place } from "../../heap.ts";
import type { Place as ListPlace } from "../../linked-list.ts";
import type { Line } from "./lines.ts";
import type { StoredMessage } from "./message.ts";

/** Somebody who receives: one unary pull, or a stream for as long as it is open. */
export interface Receiver {
  /** Gets what follows in a line that it holds already; a pull has none once it is answered. */
  readonly own: Heap<Entry>;
  /** Messages and bytes that it was given and that are leased still. */
  messages: number;
  bytes: number;
  isOpen: boolean;
}

/** One message in one subscription, until it is acknowledged, forwarded or too old. */
export interface Entry {
  readonly message: StoredMessage;
  /** Counts the entries of a subscription: their order. */
  readonly number: number;
  readonly bytes: number;
  readonly line: Line | undefined;
  inLine: ListPlace<Entry> | undefined;
  /** `ready`: it may be received, once those before it in its line are. */
  state: "ready" | "delayed" | "leased";
  /** Leased: when the lease ends. Delayed: when it may be received. ms since the epoch. */
  dueAt: number;
  /** Among what time does something to. */
  timed: Place<Entry> | undefined;
  /** On offer, and to whom. */
  offered: { readonly to: Heap<Entry>; readonly place: Place<Entry> } | undefined;
  holder: Receiver | undefined;
  /** Hand-overs; part of the ack id. */
  deliveries: number;
  /** Nacks and lapses (PS-40). */
  attempts: number;
  /** The last ack id may still acknowledge although its lease is over. */
  ackable: boolean;
}

/** One hand-over of a message, as it goes out. */
export interface HandOver {
  readonly ackId: string;
  readonly message: StoredMessage;
  /** 0 without a dead-letter policy (PS-40). */
  readonly deliveryAttempt: number;
}
