/** What the outside world saw: the other side's own book, which no handler can read. */

/** One thing that is there: a post, an issue, a message. */
export interface LedgerEntry {
  readonly system: "blog" | "tracker" | "chat";
  /** The key, name or reference that came with the write. */
  readonly reference: string;
  /** The system's own id. */
  readonly id: string;
  /** Of the write, by field. */
  readonly content: Readonly<Record<string, string>>;
}

export interface Ledger {
  readonly entries: readonly LedgerEntry[];
  /** Write calls that arrived, those included that made nothing new. */
  readonly writes: number;
  /** Faults of the system itself that came to pass. */
  readonly faults: Readonly<Record<SystemFault, number>>;
}

/** `hang`: a read never answers. `slow`: one takes longer than a lease. `drop_answer`: a write is applied and the connection breaks. */
export type SystemFault = "hang" | "slow" | "drop_answer";

/** Requests that are about one of these subjects: each answer waits until the demo lets it go. A write is applied before. */
export interface HeldRequest {
  /** What the demo calls it. */
  readonly name: string;
  readonly on: "read" | "write";
  /** Drafts that are read; titles of posts and issues, and texts of messages, that are written. */
  readonly subjects: readonly string[];
}

/** An answer that waits. */
export interface HeldAnswer {
  readonly id: number;
  readonly name: string;
  readonly subject: string;
  /** Who sent the request. */
  readonly caller: string;
}

/** What the system is told to do wrong; each value is a draft or the title of an issue. */
export interface SystemFaults {
  /** The first read of it never answers. */
  readonly hang: readonly string[];
  readonly slow: readonly string[];
  /** The first write of it is applied and not answered. */
  readonly dropAnswer: readonly string[];
  readonly hold: readonly HeldRequest[];
}
