import type { Timer } from "../clock.ts";
import { createHeap } from "../util/heap.ts";
import type { Runtime } from "./runtime.ts";

/** Something that must be looked at in time: a lease, a delivery. */
export interface Kept {
  /** Kept by the keeper: when the next look is due, monotonic. */
  due: number;
  /** Kept by the keeper: its place in the order; -1: not kept. */
  place: number;
  /** Monotonic time of the next look; Infinity: none. */
  nextDue(): number;
  /** The time has come, or passed long ago (a stall, a suspend): decide by the clock, not by the order of timers (JS-02). */
  look(): void;
}

/**
 * One timer for everything that is kept. It also wakes up regularly while anything is kept, to notice what the
 * monotonic clock cannot tell: a suspend or a jump of wall time.
 */
export interface Keeper {
  /** Keeps it, or looks again at when it is due. */
  keep(item: Kept): void;
  drop(item: Kept): void;
  readonly size: number;
  close(): void;
}

/** How far wall and monotonic time may drift apart between two looks before every item is looked at, ms. */
const DRIFT_MS = 100;

/** How often the clocks are compared while anything is kept, ms: a suspend is heard of this long after it, at the latest. */
const SHORTEST_PULSE_MS = 250;
const LONGEST_PULSE_MS = 1_000;

export function createKeeper(runtime: Runtime, afterLooks: () => void): Keeper {
  const { clock, telemetry } = runtime;
  const heap = createHeap<Kept>((left, right) => left.due < right.due, {
    get: (item) => item.place,
    set: (item, place) => {
      item.place = place;
    },
  });
  /** Often enough that a lease hears of a suspend well before it runs out, and a handler that it ran out meanwhile. */
  const pulseMs = Math.min(Math.max(runtime.settings.receiveLeaseMs / 12, SHORTEST_PULSE_MS), LONGEST_PULSE_MS);
  let timer: Timer | undefined;
  let timerDue = Number.POSITIVE_INFINITY;
  let offset = clock.now() - clock.monotonic();
  let closed = false;

  const arm = (): void => {
    const first = heap.peek();
    if (closed || first === undefined) return;
    const now = clock.monotonic();
    const due = Math.min(first.due, now + pulseMs);
    if (timer !== undefined && timerDue <= due) return;
    timer?.cancel();
    timerDue = due;
    timer = clock.setTimer(due - now, fire);
  };

  const fire = (): void => {
    const now = clock.monotonic();
    telemetry.eventLoopDelay(Math.max(now - timerDue, 0));
    timer = undefined;
    timerDue = Number.POSITIVE_INFINITY;
    const newOffset = clock.now() - now;
    const jumped = Math.abs(newOffset - offset) > DRIFT_MS;
    offset = newOffset;
    if (jumped) {
      for (const item of [...heap.items()]) look(item);
    } else {
      for (let item = heap.peek(); item !== undefined && item.due <= now; item = heap.peek()) look(item);
    }
    afterLooks();
    arm();
  };

  const look = (item: Kept): void => {
    if (item.place < 0) return;
    // Out of the way while it is looked at: whatever it does, it cannot make this loop endless.
    heap.remove(item);
    item.look();
    const due = item.nextDue();
    if (due !== Number.POSITIVE_INFINITY && item.place < 0) put(item, Math.max(due, clock.monotonic() + 1));
  };

  const put = (item: Kept, due: number): void => {
    // A time that is none is looked at soon: in the heap it would hide everything behind it.
    item.due = Number.isNaN(due) ? clock.monotonic() + pulseMs : due;
    heap.push(item);
  };

  return {
    keep(item) {
      if (closed) return;
      const due = item.nextDue();
      if (item.place >= 0) heap.remove(item);
      if (due === Number.POSITIVE_INFINITY) return;
      put(item, due);
      arm();
    },
    drop(item) {
      if (item.place >= 0) heap.remove(item);
      if (heap.size() === 0) {
        timer?.cancel();
        timer = undefined;
        timerDue = Number.POSITIVE_INFINITY;
      }
    },
    get size() {
      return heap.size();
    },
    close() {
      closed = true;
      timer?.cancel();
      timer = undefined;
    },
  };
}
