import { createHeap, type Heap, type Place } from "../../heap.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import type { Message } from "./message.ts";

/** Who has the lock of a session. */
export interface SessionHolder {
  /** Called once when the lock is lost. */
  lost(): void;
}

/** A session of one queue: its messages, its state, its lock. */
export interface Session {
  readonly id: string;
  readonly messages: Ledger<Message>;
  /** Those to be received. */
  readonly ready: Heap<Message>;
  /** Those that the holder has. */
  readonly locked: Set<Message>;
  holder: SessionHolder | undefined;
  /** ms since the epoch. */
  lockedUntil: number;
  state: Buffer | undefined;
  /** When its messages or its state changed last, ms since the epoch. */
  updatedAt: number;
  /** Its place among the sessions that are locked, by when they no longer are. */
  deadline: Place<Session> | undefined;
  /** Its place among those that wait for a holder, and since which turn. */
  waiting: Place<Session> | undefined;
  turn: number;
}

export function createSession(id: string): Session {
  return {
    id,
    messages: createLedger(),
    ready: createHeap((left, right) => left.sequenceNumber < right.sequenceNumber),
    locked: new Set(),
    holder: undefined,
    lockedUntil: 0,
    state: undefined,
    updatedAt: 0,
    deadline: undefined,
    waiting: undefined,
    turn: 0,
  };
}
