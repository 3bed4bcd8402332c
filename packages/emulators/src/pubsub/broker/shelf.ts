import type { EmulatorClock } from "../../clock.ts";
import { createHeap, type Heap } from "../../heap.ts";
import type { Entry, Receiver } from "./entry.ts";
import { createLines, type Line } from "./lines.ts";
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
    if (entry.offered?.to === to) return;
    withdraw(entry);
    entry.offered = { to, place: to.add(entry) };
  }

  function withdraw(entry: Entry): void {
    entry.offered?.to.remove(entry.offered.place);
    entry.offered = undefined;
  }

  /** Lets the next of a line be received by whoever may, and by nobody else. */
  function offerLine(line: Line): void {
    if (line.leased === 0) line.holder = undefined;
    const next = line.next?.value;
    if (next?.state !== "ready") return;
    if (line.holder === undefined) offer(next, ready);
    else if (line.holder.isOpen) offer(next, line.holder.own);
    else withdraw(next);
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
    if (entry.line === undefined) return;
    lines.advance(entry.line);
    entry.line.holder = receiver;
    offerLine(entry.line);
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
    if (!all.delete(entry.number)) return;
    if (entry.state === "leased") unlease(entry, false);
    stopTime(entry);
    withdraw(entry);
    if (entry.line === undefined) return;
    lines.remove(entry, entry.line);
    offerLine(entry.line);
  }

  function giveBack(entry: Entry, ackable: boolean): void {
    unlease(entry, ackable);
    entry.attempts++;
    if (entry.line !== undefined) {
      const onOffer = entry.line.next?.value;
      if (onOffer !== undefined) withdraw(onOffer);
      for (const later of lines.returnTo(entry, entry.line)) unlease(later, true);
    }
    // To nobody until it is decided: a copy may go out meanwhile, even to this subscription, and wake those who wait.
    entry.state = "delayed";
    const { delayMs, isSpent } = rules.afterReturn(entry);
    if (isSpent) remove(entry);
    else if (delayMs > 0) {
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
      const line = rules.isOrdered() && message.orderingKey !== "" ? lines.lineOf(message.orderingKey) : undefined;
      const entry: Entry = {
        message,
        number: ++added,
        bytes: bytesOf(message),
        line,
        inLine: undefined,
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
      if (line !== undefined) lines.append(entry, line);
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
      for (let entry = receiver.own.first(); entry !== undefined; entry = receiver.own.first()) {
        withdraw(entry);
        if (entry.line !== undefined) offerLine(entry.line);
      }
    },
    nextAt: () => timed.first()?.dueAt,
  };
}
