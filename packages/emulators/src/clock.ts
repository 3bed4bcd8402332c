/**
 * Time as an emulator sees it. The shape is a part of leasehold's own `Clock`, so that one of those fits; nothing here
 * depends on it, because the emulators are for users of other libraries and languages too.
 */

export interface EmulatorTimer {
  /** Stops the timer. Harmless after it has fired. */
  cancel(): void;
}

/** What leases, delays, long polls and the time stamps of messages go by. */
export interface EmulatorClock {
  /** Milliseconds since the epoch. Should not jump: a server's leases do not. */
  now(): number;
  /** Calls back once after `delayMs`. */
  setTimer(delayMs: number, callback: () => void): EmulatorTimer;
}

/** The machine's time without its jumps: wall time when the process began, plus monotonic time since then. */
export const steadyClock: EmulatorClock = {
  now: () => performance.timeOrigin + performance.now(),
  setTimer(delayMs, callback) {
    const handle = setTimeout(callback, Math.max(0, delayMs));
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs` on this clock. */
export function wait(clock: EmulatorClock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, resolve);
  });
}
