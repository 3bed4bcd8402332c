import { randomUUID } from "node:crypto";
import type { MessageCounts } from "../../broker-acts.ts";
import type { EmulatorClock } from "../../clock.ts";
import { createHeap } from "../../heap.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import type { Content, Message, Origin } from "./message.ts";
import type { Session } from "./session.ts";
import { createSessions, type Sessions } from "./sessions.ts";

/** The messages of one queue, and what time does to them. */
export interface Inventory {
  readonly sessions: Sessions;
  readonly messages: Ledger<Message>;
  counts(): MessageCounts;
  /** `scheduledAt`, ms since the epoch: it is not to be received before. */
  add(content: Content, origin: Origin, scheduledAt?: number): Message;
  /** Whether there is one to be received, of a session or without one. */
  hasReady(session: Session | undefined): boolean;
  /** Hands out up to `max` of those to be received; `locked` false: they are gone with it. */
  take(session: Session | undefined, max: number, locked: boolean): Message[];
  /** Locks one, whatever its state. In a session it is the session's lock that counts (SB-03). */
  lock(message: Message): void;
  find(token: string): Message | undefined;
  /** A lock, or the time until it is enqueued, ends now. `failed`: the delivery counts (SB-31). */
  free(message: Message, failed: boolean): void;
  /** The lock lasts as long again, from now on. Answers until when, ms since the epoch. */
  renew(message: Message): number;
  defer(message: Message): void;
  remove(message: Message): void;
  /** False when its life is over, and with that it is gone. */
  isAlive(message: Message): boolean;
  /** Ends what is over: locks, delays, lives. */
  settleTime(): void;
  /** The lock of a session ends; `failed`: the deliveries under it count. */
  freeSession(session: Session, failed: boolean): void;
  /** When time does something next, ms since the epoch. */
  nextDueAt(): number | undefined;
}

export interface InventoryRules {
  readonly requiresSession: boolean;
  readonly lockDurationMs: number;
  /** `Infinity`: deliveries are not counted out. */
  readonly maxDeliveryCount: number;
  /** The longest life of a message; `Infinity`: its sender decides; `undefined`: they do not expire here. */
  readonly timeToLiveMs: number | undefined;
  /** It was delivered too often. */
  exhausted(message: Message): void;
  /** Its life is over. */
  expired(message: Message): void;
  /** It can be received from now on. */
  shown(message: Message): void;
}

export function createInventory(clock: EmulatorClock, rules: InventoryRules): Inventory {
  const messages = createLedger<Message>();
  const sessions = createSessions();
  const locks = new Map<string, Message>();
  const ready = createHeap<Message>((left, right) => left.sequenceNumber < right.sequenceNumber);
  const deadlines = createHeap<Message>((left, right) =>
    left.dueAt === right.dueAt ? left.sequenceNumber < right.sequenceNumber : left.dueAt < right.dueAt,
  );
  let lastSequenceNumber = 0;
  let visible = 0;

  function setDeadline(message: Message, dueAt: number): void {
    if (message.deadline !== undefined) deadlines.remove(message.deadline);
    message.dueAt = dueAt;
    message.deadline = Number.isFinite(dueAt) ? deadlines.add(message) : undefined;
  }

  /** Takes it out of everything but the ledger. */
  function withdraw(message: Message): void {
    const { session } = message;
    setDeadline(message, Number.POSITIVE_INFINITY);
    if (message.ready !== undefined) {
      (session?.ready ?? ready).remove(message.ready);
      message.ready = undefined;
      visible--;
    }
    if (message.lock !== undefined) {
      locks.delete(message.lock.token);
      message.lock = undefined;
      session?.locked.delete(message);
    }
    if (session !== undefined) sessions.refresh(session);
  }

  function isOver(message: Message): boolean {
    return rules.timeToLiveMs !== undefined && message.expiresAt <= clock.now();
  }

  function show(message: Message): void {
    if (isOver(message)) {
      expire(message);
      return;
    }
    const { session } = message;
    message.ready = (session?.ready ?? ready).add(message);
    visible++;
    if (rules.timeToLiveMs !== undefined) setDeadline(message, message.expiresAt);
    if (session !== undefined) sessions.refresh(session);
    rules.shown(message);
  }

  function remove(message: Message): void {
    message.state = "gone";
    messages.remove(message);
    message.session?.messages.remove(message);
    withdraw(message);
  }

  function expire(message: Message): void {
    remove(message);
    rules.expired(message);
  }

  function add(content: Content, origin: Origin, scheduledAt?: number): Message {
    const now = clock.now();
    const sequenceNumber = ++lastSequenceNumber;
    const enqueuedAt = origin.enqueuedAt ?? now;
    const longestLifeMs = rules.timeToLiveMs ?? Number.POSITIVE_INFINITY;
    const isSessionful = rules.requiresSession && content.sessionId !== undefined;
    const message: Message = {
      content,
      sequenceNumber,
      enqueuedSequenceNumber: origin.enqueuedSequenceNumber ?? sequenceNumber,
      enqueuedAt,
      expiresAt: enqueuedAt + Math.min(content.timeToLiveMs ?? longestLifeMs, longestLifeMs),
      deadLetterSource: origin.deadLetterSource,
      session: isSessionful ? sessions.open(content.sessionId) : undefined,
      state: scheduledAt === undefined ? "active" : "scheduled",
      lock: undefined,
      deliveryCount: origin.deliveryCount ?? 0,
      properties: origin.properties ?? {},
      dueAt: Number.POSITIVE_INFINITY,
      deadline: undefined,
      ready: undefined,
    };
    messages.add(message);
    message.session?.messages.add(message);
    if (message.session !== undefined) message.session.updatedAt = now;
    if (scheduledAt === undefined) show(message);
    else setDeadline(message, scheduledAt);
    return message;
  }

  function lock(message: Message): void {
    withdraw(message);
    message.lock = { token: randomUUID() };
    locks.set(message.lock.token, message);
    if (message.session === undefined) setDeadline(message, clock.now() + rules.lockDurationMs);
    else message.session.locked.add(message);
  }

  function free(message: Message, failed: boolean): void {
    if (message.state === "scheduled") {
      // Enqueued as if it were sent now, with a new number: the one that scheduling answered holds until here.
      remove(message);
      const { enqueuedSequenceNumber, properties } = message;
      add(message.content, { enqueuedSequenceNumber, properties });
      return;
    }
    withdraw(message);
    if (failed) message.deliveryCount++;
    if (failed && message.deliveryCount >= rules.maxDeliveryCount) {
      remove(message);
      rules.exhausted(message);
    } else if (message.state === "active") {
      show(message);
    }
  }

  function freeSession(session: Session, failed: boolean): void {
    sessions.unlock(session);
    for (const message of [...session.locked]) free(message, failed);
    sessions.refresh(session);
  }

  function settleTime(): void {
    const now = clock.now();
    for (let first = deadlines.first(); first !== undefined && first.dueAt <= now; first = deadlines.first()) {
      if (first.ready === undefined) free(first, true);
      else expire(first);
    }
    for (
      let first = sessions.firstDue();
      first !== undefined && first.lockedUntil <= now;
      first = sessions.firstDue()
    ) {
      const { holder } = first;
      freeSession(first, true);
      holder?.lost();
    }
  }

  return {
    sessions,
    messages,
    counts() {
      settleTime();
      return { visible, inFlight: locks.size, delayed: messages.size() - visible - locks.size };
    },
    add,
    hasReady: (session) => (session?.ready ?? ready).size() > 0,
    take(session, max, locked) {
      const heap = session?.ready ?? ready;
      const taken: Message[] = [];
      for (let first = heap.first(); first !== undefined && taken.length < max; first = heap.first()) {
        if (locked) lock(first);
        else remove(first);
        taken.push(first);
      }
      return taken;
    },
    lock,
    find: (token) => locks.get(token),
    free,
    renew(message) {
      setDeadline(message, clock.now() + rules.lockDurationMs);
      return message.dueAt;
    },
    defer(message) {
      withdraw(message);
      message.state = "deferred";
    },
    remove,
    isAlive(message) {
      if (!isOver(message)) return true;
      expire(message);
      return false;
    },
    settleTime,
    freeSession,
    nextDueAt() {
      const message = deadlines.first()?.dueAt;
      const session = sessions.firstDue()?.lockedUntil;
      return message === undefined || session === undefined ? (message ?? session) : Math.min(message, session);
    },
  };
}
