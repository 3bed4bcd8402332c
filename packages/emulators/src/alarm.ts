import type { EmulatorClock, EmulatorTimer } from "./clock.ts";

/** One timer for whatever comes next. */
export interface Alarm {
  /** Calls back at `time`, ms since the epoch, or soon before it; `undefined`: there is nothing to wait for. */
  set(time: number | undefined): void;
  cancel(): void;
}

/** A timer of Node fires at once when it is asked to wait for longer (JS-01). */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

export function createAlarm(clock: EmulatorClock, callback: () => void): Alarm {
  let timer: EmulatorTimer | undefined;
  let setFor = Number.POSITIVE_INFINITY;

  function cancel(): void {
    timer?.cancel();
    timer = undefined;
    setFor = Number.POSITIVE_INFINITY;
  }

  return {
    set(time) {
      // One that rings too early looks again; so a time that moves away costs nothing.
      if (time === undefined || time >= setFor) return;
      cancel();
      setFor = time;
      timer = clock.setTimer(Math.min(time - clock.now(), LONGEST_WAIT_MS), () => {
        cancel();
        callback();
      });
    },
    cancel,
  };
}
