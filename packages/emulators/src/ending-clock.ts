import type { EmulatorClock, EmulatorTimer } from "./clock.ts";

/** The clock of one server: with the server all timers end. */
export interface EndingClock extends EmulatorClock {
  /** No timer goes off from here on, and none keeps the process. */
  end(): void;
}

export function createEndingClock(clock: EmulatorClock): EndingClock {
  const timers = new Set<EmulatorTimer>();
  let hasEnded = false;
  return {
    now: () => clock.now(),
    setTimer(delayMs, callback) {
      if (hasEnded) return { cancel: () => undefined };
      const timer = clock.setTimer(delayMs, () => {
        timers.delete(timer);
        callback();
      });
      timers.add(timer);
      return {
        cancel() {
          timers.delete(timer);
          timer.cancel();
        },
      };
    },
    end() {
      hasEnded = true;
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}
