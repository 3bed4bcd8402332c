import type { Inventory } from "./inventory.ts";
import type { Message } from "./message.ts";
import type { Session } from "./session.ts";
import type { SessionHold } from "./session-locks.ts";

/** Somebody who receives messages: of the queue, or of the one session that he has. */
export interface Consumer {
  readonly hold: SessionHold | undefined;
  /** Peek-lock; false: a message is gone once it is handed out. */
  readonly locks: boolean;
  /** How many messages it can take now. */
  capacity(): number;
  deliver(messages: readonly Message[]): void;
}

/** Those who wait for messages. */
export interface Consumers {
  /** It is served once there is something and it has capacity, until it has none. Then it has to ask again. */
  wait(consumer: Consumer): void;
  leave(consumer: Consumer): void;
  /** A session has something to be received. */
  touch(session: Session): void;
  /** Hands out what there is, to one after the other, a message at a time. */
  serve(): void;
}

export function createConsumers(inventory: Inventory): Consumers {
  const waiting = new Set<Consumer>();
  /** A session has one consumer at most, and its messages are nobody else's. */
  const inSessions = new Map<Session, Consumer>();
  const touched = new Set<Session>();

  function serveQueue(): void {
    // Those who come in again at the end are met again, so that all take turns.
    for (const consumer of waiting) {
      if (!inventory.hasReady(undefined)) return;
      waiting.delete(consumer);
      if (consumer.capacity() <= 0) continue;
      consumer.deliver(inventory.take(undefined, 1, consumer.locks));
      waiting.add(consumer);
    }
  }

  function serveSession(session: Session): void {
    const consumer = inSessions.get(session);
    if (consumer === undefined || !inventory.hasReady(session)) return;
    const capacity = consumer.hold?.isHeld() === true ? consumer.capacity() : 0;
    if (capacity > 0) consumer.deliver(inventory.take(session, capacity, consumer.locks));
    else inSessions.delete(session);
  }

  return {
    wait(consumer) {
      if (consumer.hold === undefined) waiting.add(consumer);
      else {
        inSessions.set(consumer.hold.session, consumer);
        touched.add(consumer.hold.session);
      }
    },
    leave(consumer) {
      waiting.delete(consumer);
      const session = consumer.hold?.session;
      if (session !== undefined && inSessions.get(session) === consumer) inSessions.delete(session);
    },
    touch: (session) => void touched.add(session),
    serve() {
      serveQueue();
      for (const session of touched) serveSession(session);
      touched.clear();
    },
  };
}
