/**
 * The only file that may ask for time (a lint rule keeps it so): a lease is judged by wall *and* monotonic time,
 * because a suspend stops the one and a jump moves the other (JS-03).
 */

/** A timer that was set on a {@link Clock}. */
export interface Timer {
  /** Stops the timer. Harmless after it has fired. */
  cancel(): void;
}

/** Wall time, monotonic time and one-shot timers. */
export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Monotonic time in milliseconds from an arbitrary origin. Never jumps, may stand still while the machine is suspended. */
  monotonic(): number;
  /**
   * Calls back once after `delayMs`. The delay is clamped to 0..{@link MAX_TIMER_MS}; NaN counts as the maximum, so that
   * a bad subtraction is a late timer and never a hot loop (JS-01).
   */
  setTimer(delayMs: number, callback: () => void): Timer;
}

/** The longest delay a timer takes: 2^31 - 1 ms. A longer one fires at once in Node (JS-01). */
export const MAX_TIMER_MS = 2_147_483_647;

/** Brings a delay into the range that timers accept; NaN becomes the maximum. */
export function clampTimerMs(delayMs: number): number {
  if (Number.isNaN(delayMs)) return MAX_TIMER_MS;
  return Math.min(Math.max(delayMs, 0), MAX_TIMER_MS);
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    const handle = setTimeout(callback, clampTimerMs(delayMs));
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs`, or as soon as the signal aborts; never rejects. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.setTimer(delayMs, done);
    signal?.addEventListener("abort", done, { once: true });
  });
}

const DAY_MS = 86_400_000;
/** The day that was formatted last: its midnight in ms, and its text. Times of one process are mostly of one day. */
let dayStartMs = Number.NaN;
let dayText = "";
/** "00" to "59". */
const TWO_DIGITS: readonly string[] = Array.from({ length: 60 }, (_, index) => String(index).padStart(2, "0"));

/**
 * Formats milliseconds since the epoch as `YYYY-MM-DDTHH:mm:ss.sssZ`, the one form of stored times: it sorts as text. Each
 * write of a lease formats two or three, so within a day this is put together by hand, six times as fast as by `Date`.
 */
export function formatTime(ms: number): string {
  const whole = Math.trunc(ms);
  const sinceMidnight = whole - dayStartMs;
  if (!(sinceMidnight >= 0 && sinceMidnight < DAY_MS)) {
    const text = new Date(ms).toISOString();
    if (whole >= 0) {
      dayStartMs = whole - (whole % DAY_MS);
      dayText = text.slice(0, -"00:00:00.000Z".length);
    }
    return text;
  }
  const hours = TWO_DIGITS[Math.floor(sinceMidnight / 3_600_000)];
  const minutes = TWO_DIGITS[Math.floor(sinceMidnight / 60_000) % 60];
  const seconds = TWO_DIGITS[Math.floor(sinceMidnight / 1_000) % 60];
  return `${dayText}${hours}:${minutes}:${seconds}.${String(sinceMidnight % 1_000).padStart(3, "0")}Z`;
}

/** Reads an RFC 3339 time. `NaN` when the text is none. */
export function parseTime(text: string): number {
  return Date.parse(text);
}
