import type { MessageCounts } from "../broker-acts.ts";
import type { EmulatorClock } from "../clock.ts";
import { createHidden } from "./hidden.ts";
import { type Content, createMessage, type Message, type MessageOrigin } from "./message.ts";
import { createFifoShelf, createStandardShelf } from "./shelf.ts";

/** The messages of one queue and what time does to them. Time is settled before each look, whether anybody asked meanwhile or not. */
export interface Inventory {
  counts(): MessageCounts;
  get(number: number): Message | undefined;
  /** Everything that is there, by order of arrival. */
  messages(): readonly Message[];
  add(content: Content, origin: MessageOrigin, delayMs: number): Message;
  /** Leases up to `max` visible messages; buries those that were received too often (SQS-54). */
  lease(max: number, visibilityMs: number): Message[];
  /** The lease ends in `visibilityMs` from now; 0: now. */
  extend(message: Message, visibilityMs: number): void;
  /** A lease or a delay ends now. */
  reveal(message: Message): void;
  remove(message: Message): void;
  clear(): void;
  /** Ends what is over: leases, delays, retention. */
  settleTime(): void;
  /** When the next hidden message becomes visible, ms. */
  nextVisibleAt(): number | undefined;
}

export interface InventoryRules {
  readonly retentionMs: () => number;
  /** Asked before a message is leased; true: it went to another queue. */
  readonly buried: (message: Message) => boolean;
}

export function createInventory(clock: EmulatorClock, isFifo: boolean, rules: InventoryRules): Inventory {
  const shelf = isFifo ? createFifoShelf() : createStandardShelf();
  const hidden = createHidden();
  const messages = new Map<number, Message>();
  let lastNumber = 0;
  let inFlight = 0;
  /** No message was sent before this; it spares the search for expired ones while there can be none. */
  let oldestSentAt = Number.POSITIVE_INFINITY;

  function reveal(message: Message): void {
    if (message.state === "in-flight") inFlight--;
    hidden.remove(message);
    message.state = "visible";
    shelf.show(message);
  }

  function hide(message: Message, state: "delayed" | "in-flight", until: number): void {
    message.state = state;
    message.visibleAt = until;
    if (state === "in-flight") inFlight++;
    hidden.add(message);
  }

  function remove(message: Message): void {
    if (message.state === "in-flight") inFlight--;
    if (message.hiddenIndex >= 0) hidden.remove(message);
    message.state = "gone";
    shelf.remove(message);
    messages.delete(message.number);
  }

  function dropExpired(now: number): void {
    const limit = now - rules.retentionMs();
    if (oldestSentAt > limit) return;
    oldestSentAt = Number.POSITIVE_INFINITY;
    for (const message of messages.values()) {
      if (message.sentAt <= limit) remove(message);
      else if (message.sentAt < oldestSentAt) oldestSentAt = message.sentAt;
    }
  }

  function settleTime(): void {
    const now = clock.now();
    for (let first = hidden.first(); first !== undefined && first.visibleAt <= now; first = hidden.first()) {
      reveal(first);
    }
    dropExpired(now);
  }

  function leaseOne(message: Message, now: number, visibilityMs: number): boolean {
    if (rules.buried(message)) {
      remove(message);
      return false;
    }
    message.receiveCount++;
    message.firstReceivedAt ??= now;
    message.receivedAt = now;
    if (visibilityMs > 0) hide(message, "in-flight", now + visibilityMs);
    return true;
  }

  return {
    counts() {
      settleTime();
      return { visible: messages.size - hidden.size(), inFlight, delayed: hidden.size() - inFlight };
    },
    get: (number) => messages.get(number),
    messages: () => [...messages.values()],
    add(content, origin, delayMs) {
      const message = createMessage(content, ++lastNumber, origin);
      messages.set(message.number, message);
      oldestSentAt = Math.min(oldestSentAt, message.sentAt);
      if (delayMs > 0) hide(message, "delayed", clock.now() + delayMs);
      shelf.add(message);
      return message;
    },
    lease(max, visibilityMs) {
      settleTime();
      const now = clock.now();
      return shelf.take(max, (message) => leaseOne(message, now, visibilityMs));
    },
    extend(message, visibilityMs) {
      if (visibilityMs <= 0) {
        reveal(message);
        return;
      }
      hidden.remove(message);
      message.visibleAt = clock.now() + visibilityMs;
      hidden.add(message);
    },
    reveal,
    remove,
    clear() {
      for (const message of messages.values()) remove(message);
    },
    settleTime,
    nextVisibleAt: () => hidden.first()?.visibleAt,
  };
}
