import { messageLockLost, messageNotFound, notAllowed, sessionLockLost } from "../errors.ts";
import type { Inventory } from "./inventory.ts";
import type { Message, Properties } from "./message.ts";
import type { SessionHold } from "./session-locks.ts";

/** What becomes of a message that somebody has locked. */
export type Outcome =
  | { readonly kind: "complete" }
  /** Back to the queue; the delivery counts. Properties are added to its application properties. */
  | { readonly kind: "abandon"; readonly properties?: Properties }
  /** Back to the queue, as if it had not been delivered. */
  | { readonly kind: "release" }
  /** Set aside, to be had by its sequence number alone (SB-35). */
  | { readonly kind: "defer"; readonly properties?: Properties }
  /** Native, with a reason (SB-36). The reason and its description are among the properties. */
  | { readonly kind: "dead-letter"; readonly properties?: Properties };

/** The end of locks, and what else is said by lock token or sequence number. */
export interface Settlement {
  /** Throws `com.microsoft:message-lock-lost`, or `com.microsoft:session-lock-lost` on a queue with sessions (SB-24). */
  settle(token: string, outcome: Outcome): void;
  /** Answers until when, ms since the epoch. All or none: throws when one is lost. */
  renew(tokens: readonly string[]): readonly number[];
  /** Locks deferred messages (`locks` false: hands them out for good). All or none: throws `com.microsoft:message-not-found`. */
  receiveDeferred(
    sequenceNumbers: readonly number[],
    locks: boolean,
    hold: SessionHold | undefined,
  ): readonly Message[];
  /** Takes back what is scheduled. All or none: throws `com.microsoft:message-not-found`. */
  cancelScheduled(sequenceNumbers: readonly number[]): void;
  /** Messages in any state, locked or not, from a sequence number on. */
  peek(from: number, max: number, sessionId: string | undefined): readonly Message[];
  /** Takes away up to `max` messages that nobody has locked and that were enqueued before. Answers how many. */
  discard(max: number, before: number): number;
}

export interface SettlementRules {
  readonly requiresSession: boolean;
  /** Where dead letters go. On a queue of dead letters they stay where they are. */
  bury(message: Message, properties: Properties): void;
}

export function createSettlement(inventory: Inventory, rules: SettlementRules, changed: () => void): Settlement {
  const { messages } = inventory;

  function held(token: string): Message {
    inventory.settleTime();
    const message = inventory.find(token);
    if (message !== undefined) return message;
    throw rules.requiresSession ? sessionLockLost() : messageLockLost();
  }

  function all(sequenceNumbers: readonly number[], isMeant: (message: Message) => boolean): readonly Message[] {
    inventory.settleTime();
    return [...new Set(sequenceNumbers)].map((sequenceNumber) => {
      const message = messages.get(sequenceNumber);
      if (message === undefined || !isMeant(message)) throw messageNotFound(sequenceNumber);
      return message;
    });
  }

  function apply(message: Message, outcome: Outcome): void {
    if (outcome.kind === "complete") inventory.remove(message);
    else if (outcome.kind === "release") inventory.free(message, false);
    else if (outcome.kind === "dead-letter") rules.bury(message, outcome.properties ?? {});
    else {
      message.properties = { ...message.properties, ...outcome.properties };
      if (outcome.kind === "defer") inventory.defer(message);
      else inventory.free(message, true);
    }
  }

  return {
    settle(token, outcome) {
      apply(held(token), outcome);
      changed();
    },
    renew(tokens) {
      if (rules.requiresSession)
        throw notAllowed("Messages of a session have no lock of their own: renew the session's.");
      const until = tokens.map(held).map((message) => inventory.renew(message));
      changed();
      return until;
    },
    receiveDeferred(sequenceNumbers, locks, hold) {
      if (rules.requiresSession) {
        if (hold === undefined) throw sessionLockLost();
        hold.check();
      }
      const found = all(sequenceNumbers, (message) => {
        const isFree = message.state === "deferred" && message.lock === undefined;
        // Time does not look at what is deferred; it is found out here.
        return isFree && message.session === hold?.session && inventory.isAlive(message);
      });
      for (const message of found) {
        if (locks) inventory.lock(message);
        else inventory.remove(message);
      }
      changed();
      return found;
    },
    cancelScheduled(sequenceNumbers) {
      for (const message of all(sequenceNumbers, ({ state }) => state === "scheduled")) inventory.remove(message);
      changed();
    },
    peek(from, max, sessionId) {
      inventory.settleTime();
      const source = sessionId === undefined ? messages : inventory.sessions.find(sessionId)?.messages;
      const seen: Message[] = [];
      for (const message of source?.from(from) ?? []) {
        if (seen.length >= max) break;
        seen.push(message);
      }
      return seen;
    },
    discard(max, before) {
      inventory.settleTime();
      const found: Message[] = [];
      for (const message of messages.from(0)) {
        if (found.length >= max || message.enqueuedAt >= before) break;
        if (message.ready !== undefined) found.push(message);
      }
      for (const message of found) inventory.remove(message);
      changed();
      return found.length;
    },
  };
}
