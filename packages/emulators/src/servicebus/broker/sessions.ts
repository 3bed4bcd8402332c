import { createHeap } from "../../heap.ts";
import { createSession, type Session, type SessionHolder } from "./session.ts";

/** The sessions of one queue: which ones wait for a holder, which ones are locked and until when. */
export interface Sessions {
  find(id: string): Session | undefined;
  /** Made when there is none. */
  open(id: string): Session;
  /** The one that has waited longest for a holder, with messages to be received. */
  next(): Session | undefined;
  lock(session: Session, holder: SessionHolder, until: number): void;
  unlock(session: Session): void;
  /** The locked one whose lock ends first. */
  firstDue(): Session | undefined;
  /** Messages or state changed: puts the session in its place, and forgets one that is empty. */
  refresh(session: Session): void;
  /** By when they were made. */
  all(): Iterable<Session>;
}

export function createSessions(): Sessions {
  const sessions = new Map<string, Session>();
  const waiting = createHeap<Session>((left, right) => left.turn < right.turn);
  const locked = createHeap<Session>((left, right) => left.lockedUntil < right.lockedUntil);
  let turns = 0;

  function refresh(session: Session): void {
    const waits = session.holder === undefined && session.ready.size() > 0;
    if (waits && session.waiting === undefined) {
      session.turn = ++turns;
      session.waiting = waiting.add(session);
    } else if (!waits && session.waiting !== undefined) {
      waiting.remove(session.waiting);
      session.waiting = undefined;
    }
    const isEmpty = session.messages.size() === 0 && session.state === undefined;
    if (isEmpty && session.holder === undefined) sessions.delete(session.id);
  }

  function release(session: Session): void {
    if (session.deadline !== undefined) locked.remove(session.deadline);
    session.deadline = undefined;
    session.holder = undefined;
  }

  return {
    find: (id) => sessions.get(id),
    open(id) {
      let session = sessions.get(id);
      if (session === undefined) {
        session = createSession(id);
        sessions.set(id, session);
      }
      return session;
    },
    next: () => waiting.first(),
    lock(session, holder, until) {
      release(session);
      session.holder = holder;
      session.lockedUntil = until;
      session.deadline = locked.add(session);
      refresh(session);
    },
    unlock(session) {
      release(session);
      refresh(session);
    },
    firstDue: () => locked.first(),
    refresh,
    all: () => sessions.values(),
  };
}
