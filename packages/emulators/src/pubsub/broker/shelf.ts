import type { EmulatorClock } from "../../clock.ts";
import { createHeap, type Heap } from "../../heap.ts";
import type { Entry, Receiver } from "./entry.ts";
import { behind, createLines, type Line, nextOf } from "./lines.ts";
import { bytesOf, type StoredMessage } from "./message.ts";

/** What becomes of a message that was given back. */
export interface GivenBack {
  /** It can be received again after this, ms. */
  readonly delayMs: number;
  /** It leaves the subscription instead. */
  readonly isSpent: boolean;
}

export interface ShelfRules {
  readonly isOrdered: () => boolean;
  readonly retentionMs: () => number;
  /** Asked once a message was given back, or its lease ran out, so many times. */
  readonly afterReturn: (entry: Entry) => GivenBack;
}

/** The messages of one subscription, who holds them, and what time does to them. */
export interface Shelf {
  add(message: StoredMessage): Entry;
  get(number: number): Entry | undefined;
  /** Everything that is there, oldest first. */
  entries(): Iterable<Entry>;
  /** Ends what is over: leases, delays, retention. Before each look, whether anybody asked meanwhile or not. */
  settleTime(): void;
  /** Leases up to `max` messages of together `maxBytes` (one at least) to a receiver. */
  take(receiver: Receiver, max: number, maxBytes: number, leaseMs: number): readonly Entry[];
  /** The lease ends in `leaseMs` from now. */
  extend(entry: Entry, leaseMs: number): void;
  /** A nack, or a lease that ran out: later messages of its line come again with it (PS-45). */
  giveBack(entry: Entry, ackable: boolean): void;
  /** A delay ends now. */
  reveal(entry: Entry): void;
  remove(entry: Entry): void;
  /** A receiver goes: its leases stay, its lines are free once those are over. */
  leave(receiver: Receiver): void;
  /** When time does something next. */
  nextAt(): number | undefined;
}

/** Oldest first, whether it comes for the first time or again. */
const isOlder = (left: Entry, right: Entry): boolean => left.number < right.number;

export function createReceiver(): Receiver {
  return { own: createHeap(isOlder), messages: 0, bytes: 0, isOpen: true };
}

export function createShelf(clock: EmulatorClock, rules: ShelfRules): Shelf {
  const all = new Map<number, Entry>();
  const ready = createHeap(isOlder);
  const timed = createHeap<Entry>((left, right) =>
    left.dueAt === right.dueAt ? left.number < right.number : left.dueAt < right.dueAt,
  );
  const lines = createLines();
  let added = 0;

  function offer(entry: Entry, to: Heap<Entry>): void {
    if (entry.offered === undefined) entry.offered = { to, place: to.add(entry) };
  }

  function withdraw(entry: Entry): void {
    entry.offered?.to.remove(entry.offered.place);
    entry.offered = undefined;
  }

  /** Lets the next of a line be received by whoever may. */
  function offerLine(line: Line): void {
    if (line.leased === 0) line.holder = undefined;
    const next = nextOf(line);
    if (next?.state !== "ready") return;
    if (line.holder === undefined) offer(next, ready);
    else if (line.holder.isOpen) offer(next, line.holder.own);
  }

  function show(entry: Entry): void {
    entry.state = "ready";
    if (entry.line === undefined) offer(entry, ready);
    else offerLine(entry.line);
  }

  function setTime(entry: Entry, dueAt: number): void {
    stopTime(entry);
    entry.dueAt = dueAt;
    entry.timed = timed.add(entry);
  }

  function stopTime(entry: Entry): void {
    if (entry.timed !== undefined) timed.remove(entry.timed);
    entry.timed = undefined;
  }

  function lease(entry: Entry, receiver: Receiver, leaseMs: number): void {
    withdraw(entry);
    entry.state = "leased";
    entry.holder = receiver;
    entry.deliveries++;
    entry.ackable = true;
    receiver.messages++;
    receiver.bytes += entry.bytes;
    setTime(entry, clock.now() + leaseMs);
    const { line } = entry;
    if (line === undefined) return;
    line.leased++;
    line.holder = receiver;
    const next = nextOf(line);
    if (next?.state === "ready") offer(next, receiver.own);
  }

  function unlease(entry: Entry, ackable: boolean): void {
    const { holder, line } = entry;
    stopTime(entry);
    entry.holder = undefined;
    entry.state = "ready";
    entry.ackable = ackable;
    if (holder !== undefined) {
      holder.messages--;
      holder.bytes -= entry.bytes;
    }
    if (line !== undefined) line.leased--;
  }

  function remove(entry: Entry): void {
    if (entry.state === "leased") unlease(entry, false);
    stopTime(entry);
    withdraw(entry);
    all.delete(entry.number);
    const { line } = entry;
    if (line === undefined) return;
    line.entries.splice(line.entries.indexOf(entry), 1);
    lines.drop(line);
    offerLine(line);
  }

  function giveBack(entry: Entry, ackable: boolean): void {
    unlease(entry, ackable);
    entry.attempts++;
    for (const later of entry.line === undefined ? [] : behind(entry.line, entry)) {
      withdraw(later);
      if (later.state === "leased") unlease(later, true);
    }
    const { delayMs, isSpent } = rules.afterReturn(entry);
    if (isSpent) remove(entry);
    else if (delayMs > 0) {
      entry.state = "delayed";
      setTime(entry, clock.now() + delayMs);
      if (entry.line !== undefined) offerLine(entry.line);
    } else show(entry);
  }

  function reveal(entry: Entry): void {
    stopTime(entry);
    show(entry);
  }

  return {
    add(message) {
      const isInLine = rules.isOrdered() && message.orderingKey !== "";
      const entry: Entry = {
        message,
        number: ++added,
        bytes: bytesOf(message),
        line: isInLine ? lines.lineOf(message.orderingKey) : undefined,
        state: "ready",
        dueAt: 0,
        timed: undefined,
        offered: undefined,
        holder: undefined,
        deliveries: 0,
        attempts: 0,
        ackable: false,
      };
      all.set(entry.number, entry);
      entry.line?.entries.push(entry);
      show(entry);
      return entry;
    },
    get: (number) => all.get(number),
    entries: () => all.values(),
    settleTime() {
      const now = clock.now();
      const tooOld = now - rules.retentionMs();
      for (const entry of all.values()) {
        if (entry.message.publishedAt > tooOld) break;
        remove(entry);
      }
      for (let entry = timed.first(); entry !== undefined && entry.dueAt <= now; entry = timed.first()) {
        if (entry.state === "leased") giveBack(entry, true);
        else reveal(entry);
      }
    },
    take(receiver, max, maxBytes, leaseMs) {
      const taken: Entry[] = [];
      let bytes = 0;
      while (taken.length < max) {
        const [common, own] = [ready.first(), receiver.own.first()];
        const entry = own !== undefined && (common === undefined || isOlder(own, common)) ? own : common;
        if (entry === undefined || (taken.length > 0 && bytes + entry.bytes > maxBytes)) break;
        lease(entry, receiver, leaseMs);
        taken.push(entry);
        bytes += entry.bytes;
      }
      return taken;
    },
    extend: (entry, leaseMs) => setTime(entry, clock.now() + leaseMs),
    giveBack,
    reveal,
    remove,
    leave(receiver) {
      receiver.isOpen = false;
      for (let entry = receiver.own.first(); entry !== undefined; entry = receiver.own.first()) withdraw(entry);
    },
    nextAt: () => timed.first()?.dueAt,
  };
}
