import { type Clock, clampTimerMs, type Timer } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import { createHeap } from "../util/heap.ts";

/**
 * Time that only moves when a test or a simulation moves it. One timeline holds the true time; each process that is played
 * gets a clock of its own, which may be off, jump, stand still or die. The same calls in the same order give the same run.
 */
export interface Timeline {
  /** The true time, ms since the epoch. No process knows it. */
  now(): number;
  /** The clock of one more process. `wallOffsetMs`: how far its wall time is ahead of the true time (default 0). */
  clock(options?: { readonly wallOffsetMs?: number }): ProcessClock;
  /** Moves time on by `ms`, firing each timer at its instant; everything runnable has run between two firings and at the end. */
  advance(ms: number): Promise<void>;
  /** Jumps to the next timer, fires it, lets everything runnable run. False when there is none that can fire. */
  runNext(): Promise<boolean>;
  /** Jumps from timer to timer until the promise has settled, and answers it. Throws `Hung` when no timer is left. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Lets all pending microtasks and immediates run. Time stands still. */
  settle(): Promise<void>;
  /** Timers that were set and have neither fired nor been cancelled, those of processes that stand still included. */
  pendingTimers(): number;
}

/** The clock of one process, and what can happen to the process. */
export interface ProcessClock extends Clock {
  /** The process stands still: its timers do not fire. */
  pause(): void;
  /** It continues: timers that came due meanwhile fire late, in one burst, in the order in which they were due (JS-02). */
  resume(): void;
  /** Its wall time jumps by `ms`, forward or back; monotonic time and timers do not notice. */
  jumpWall(ms: number): void;
  /** The machine sleeps for `ms`: wall time goes on, monotonic time and with it the timers stand still (JS-03). */
  suspendMonotonic(ms: number): void;
  /** The process is gone: its timers are dropped for ever, and new ones are taken and never fire. */
  kill(): void;
}

/** Where true time begins unless a test says otherwise: 2027-01-01T00:00:00.000Z. */
const DEFAULT_START_MS = 1_798_761_600_000;
/** Firings after which the event loop gets a turn, so that watchdogs and signals are heard in a long run. */
const FIRINGS_PER_TURN = 256;

interface Entry {
  due: number;
  readonly order: number;
  readonly owner: ProcessState;
  readonly callback: () => void;
  index: number;
}

interface ProcessState {
  wallOffsetMs: number;
  suspendedMs: number;
  suspendedUntil: number;
  paused: boolean;
  killed: boolean;
  /** Due while the process stood still. */
  readonly held: Set<Entry>;
}

/** Node runs ticks when no microtask is left, so this is a whole drain, at a fraction of the cost of a turn. */
const microtasks = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
// biome-ignore lint/style/noRestrictedGlobals: lets the event loop turn, asks for no time
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function createTimeline(options: { readonly startMs?: number } = {}): Timeline {
  const startMs = options.startMs ?? DEFAULT_START_MS;
  const processes: ProcessState[] = [];
  const timers = createHeap<Entry>(
    (left, right) => left.due < right.due || (left.due === right.due && left.order < right.order),
    {
      get: (entry) => entry.index,
      set: (entry, index) => {
        entry.index = index;
      },
    },
  );
  let trueMs = startMs;
  let created = 0;
  let fired = 0;
  let moving = false;

  /** The next timer that can fire. Those of processes that stand still are put aside. */
  function next(): Entry | undefined {
    for (;;) {
      const entry = timers.peek();
      if (entry?.owner.paused !== true) return entry;
      timers.remove(entry);
      entry.owner.held.add(entry);
    }
  }

  async function fire(entry: Entry): Promise<void> {
    timers.remove(entry);
    trueMs = Math.max(trueMs, entry.due);
    entry.callback();
    await (++fired % FIRINGS_PER_TURN === 0 ? turn() : microtasks());
  }

  /** One hand moves time: a second one would make the order of events a matter of luck. */
  async function moved<T>(move: () => Promise<T>): Promise<T> {
    if (moving) throw new LeaseholdError("Conflict", "the timeline is being moved already: await that call first");
    moving = true;
    try {
      await microtasks();
      return await move();
    } finally {
      moving = false;
    }
  }

  function setTimer(owner: ProcessState, delayMs: number, callback: () => void): Timer {
    // Whole milliseconds, rounded up: no timer is early.
    const due = Math.max(trueMs, owner.suspendedUntil) + Math.ceil(clampTimerMs(delayMs));
    const entry: Entry = { due, order: created++, owner, callback, index: -1 };
    if (!owner.killed) timers.push(entry);
    return {
      cancel() {
        timers.remove(entry);
        owner.held.delete(entry);
      },
    };
  }

  function suspend(owner: ProcessState, ms: number): void {
    owner.suspendedUntil = Math.max(trueMs, owner.suspendedUntil) + ms;
    owner.suspendedMs += ms;
    for (const entry of [...timers.items(), ...owner.held]) if (entry.owner === owner) entry.due += ms;
    timers.reorder();
  }

  function kill(owner: ProcessState): void {
    owner.killed = true;
    owner.held.clear();
    for (const entry of timers.items().filter((one) => one.owner === owner)) timers.remove(entry);
  }

  function clock({ wallOffsetMs = 0 }: { readonly wallOffsetMs?: number } = {}): ProcessClock {
    const held = new Set<Entry>();
    const owner: ProcessState = {
      wallOffsetMs,
      suspendedMs: 0,
      suspendedUntil: startMs,
      paused: false,
      killed: false,
      held,
    };
    processes.push(owner);
    return {
      now: () => trueMs + owner.wallOffsetMs,
      monotonic: () => Math.max(trueMs, owner.suspendedUntil) - startMs - owner.suspendedMs,
      setTimer: (delayMs, callback) => setTimer(owner, delayMs, callback),
      pause() {
        owner.paused = true;
      },
      resume() {
        owner.paused = false;
        for (const entry of held) timers.push(entry);
        held.clear();
      },
      jumpWall(ms) {
        owner.wallOffsetMs += ms;
      },
      suspendMonotonic: (ms) => suspend(owner, ms),
      kill: () => kill(owner),
    };
  }

  async function runNext(): Promise<boolean> {
    const entry = next();
    if (entry !== undefined) await fire(entry);
    return entry !== undefined;
  }

  return {
    now: () => trueMs,
    clock,
    advance: (ms) =>
      moved(async () => {
        const end = trueMs + Math.max(ms, 0);
        for (let entry = next(); entry !== undefined && entry.due <= end; entry = next()) await fire(entry);
        trueMs = Math.max(trueMs, end);
      }),
    runNext: () => moved(runNext),
    until: (promise) =>
      moved(async () => {
        let settled = false;
        const note = (): void => {
          settled = true;
        };
        promise.then(note, note);
        await microtasks();
        while (!settled) {
          if (await runNext()) continue;
          await turn();
          if (!settled && next() === undefined) {
            throw new LeaseholdError("Hung", "the promise has not settled, and no timer is left that could settle it");
          }
        }
        return promise;
      }),
    async settle() {
      await turn();
      await turn();
    },
    pendingTimers: () => processes.reduce((sum, owner) => sum + owner.held.size, timers.size()),
  };
}
