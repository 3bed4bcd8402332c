import type { Clock } from "../clock.ts";
import { createHeap } from "../util/heap.ts";
import { type Content, createMessage, type Message } from "./message.ts";
import { createShelf } from "./shelf.ts";

/** All messages of one queue, and the steps from one state to another. Every change of a message's state is made here. */
export interface Inventory {
  /** Takes a new message in; with a delay it cannot be seen before `delayMs` have passed. */
  add(content: Content, delayMs: number): Message;
  /** Takes in the same message once more: to a consumer one message, delivered twice. */
  addTwin(message: Message): Message;
  bySeq(seq: number): Message | undefined;
  /** Everything that is there, by order of sending. */
  all(): readonly Message[];
  counts(): QueueCounts;
  /** Leases up to `max` of those that can be seen. */
  lease(max: number, leaseMs: number): readonly Message[];
  /** Holds a message back until `dueAt`, leased or not, whatever it was before. */
  holdUntil(message: Message, state: "leased" | "delayed", dueAt: number): void;
  /** Lease or delay has ended: it can be seen again, unless its time or its deliveries are used up. */
  release(message: Message): void;
  remove(message: Message): void;
  /** Applies what came due since the last call. */
  catchUp(): void;
  /** Monotonic time at which the next lease or delay ends. */
  nextDueAt(): number | undefined;
}

export interface QueueCounts {
  /** To be seen now; those that wait behind the head of their ordering key are among them. */
  readonly visible: number;
  readonly leased: number;
  readonly delayed: number;
}

export interface InventoryOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly maxDeliveries: number | undefined;
  readonly retentionMs: number | undefined;
  readonly ordering: boolean;
  /** Takes the content of a message that was delivered too often. */
  readonly deadLetterByCount: (content: Content) => void;
}

export function createInventory(options: InventoryOptions): Inventory {
  const { name, clock, maxDeliveries, retentionMs } = options;
  const messages = new Map<number, Message>();
  const shelf = createShelf(options.ordering);
  const timers = createHeap<Message>(
    (left, right) => left.dueAt < right.dueAt || (left.dueAt === right.dueAt && left.seq < right.seq),
    {
      get: (message) => message.timerIndex,
      set: (message, index) => {
        message.timerIndex = index;
      },
    },
  );
  const numbers = { ready: 0, leased: 0, delayed: 0, gone: 0 };
  let created = 0;

  function enter(message: Message, state: Message["state"]): void {
    numbers[message.state]--;
    numbers[state]++;
    message.state = state;
  }

  const tooOld = (message: Message): boolean =>
    retentionMs !== undefined && clock.now() - message.sentAt >= retentionMs;

  function remove(message: Message): void {
    enter(message, "gone");
    timers.remove(message);
    shelf.drop(message);
    messages.delete(message.seq);
  }

  function release(message: Message): void {
    if (tooOld(message)) {
      remove(message);
    } else if (maxDeliveries !== undefined && message.deliveries >= maxDeliveries) {
      remove(message);
      options.deadLetterByCount(message.content);
    } else {
      enter(message, "ready");
      timers.remove(message);
      shelf.show(message);
    }
  }

  function holdUntil(message: Message, state: "leased" | "delayed", dueAt: number): void {
    const wasReady = message.state === "ready";
    enter(message, state);
    timers.remove(message);
    message.dueAt = dueAt;
    timers.push(message);
    if (wasReady) shelf.hide(message);
  }

  function nextToLease(): Message | undefined {
    for (;;) {
      const message = shelf.next();
      if (message === undefined || !tooOld(message)) return message;
      remove(message);
    }
  }

  return {
    add(content, delayMs) {
      const seq = ++created;
      const message = createMessage(seq, `${name}-${seq}`, content, clock.now());
      messages.set(seq, message);
      numbers.ready++;
      if (delayMs > 0) {
        enter(message, "delayed");
        message.dueAt = clock.monotonic() + delayMs;
        timers.push(message);
      } else {
        shelf.append(message);
      }
      return message;
    },
    addTwin(message) {
      const twin = createMessage(++created, message.messageId, message.content, message.sentAt);
      twin.deliveries = message.deliveries;
      messages.set(twin.seq, twin);
      numbers.ready++;
      shelf.append(twin);
      return twin;
    },
    bySeq: (seq) => messages.get(seq),
    all: () => [...messages.values()],
    counts: () => ({ visible: numbers.ready, leased: numbers.leased, delayed: numbers.delayed }),
    lease(max, leaseMs) {
      const taken: Message[] = [];
      const now = clock.monotonic();
      while (taken.length < max) {
        const message = nextToLease();
        if (message === undefined) break;
        shelf.take();
        message.deliveries++;
        message.token = `${name}#${message.seq}.${message.deliveries}`;
        message.receivedAt = now;
        message.dueAt = now + leaseMs;
        enter(message, "leased");
        timers.push(message);
        taken.push(message);
      }
      // Only now do they stand before the later ones of their keys: those were free to leave with them.
      for (const message of taken) if (message.content.orderingKey !== undefined) shelf.hide(message);
      return taken;
    },
    holdUntil,
    release,
    remove,
    catchUp() {
      const now = clock.monotonic();
      for (let message = timers.peek(); message !== undefined && message.dueAt <= now; message = timers.peek()) {
        release(message);
      }
    },
    nextDueAt: () => timers.peek()?.dueAt,
  };
}
