import type { EmulatorClock } from "./clock.ts";

/** A clock that stands still until it is moved, so that hours pass without waiting. */
export interface HandClock extends EmulatorClock {
  /** Moves time on by `ms`, firing each timer at its instant. */
  advance(ms: number): void;
}

/** `startMs`: ms since the epoch; default, the machine's time. */
export function createHandClock(startMs: number = Date.now()): HandClock {
  const timers = new Set<{ readonly due: number; readonly callback: () => void }>();
  let now = startMs;

  /** The first timer that is due by then, the one set first among those of one instant. */
  function next(end: number) {
    let first: { readonly due: number; readonly callback: () => void } | undefined;
    for (const timer of timers) if (timer.due <= end && (first === undefined || timer.due < first.due)) first = timer;
    return first;
  }

  return {
    now: () => now,
    setTimer(delayMs, callback) {
      const timer = { due: now + Math.max(0, delayMs), callback };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    advance(ms) {
      const end = now + ms;
      for (let timer = next(end); timer !== undefined; timer = next(end)) {
        timers.delete(timer);
        now = timer.due;
        timer.callback();
      }
      now = end;
    },
  };
}
