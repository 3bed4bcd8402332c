import { type Clock, sleep } from "../clock.ts";
import type { Entropy } from "../entropy.ts";
import { fromUnknown, isTransient } from "../errors.ts";

export interface RetryOptions {
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** Names the call in an error: "acquire". */
  readonly doing: string;
  /** Monotonic time after which no further try begins. */
  readonly untilMonotonic: number;
  /** First wait, ms; doubles up to `capMs`, each with full jitter but at least a quarter. */
  readonly baseMs: number;
  readonly capMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Makes a call again while it fails in a transient way and time is left. The call must be safe to make twice: a transient
 * error may follow a call that was applied. Throws the last error.
 */
export async function retrying<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, entropy } = options;
  for (let attempt = 0; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const failure = fromUnknown(error, options.doing);
      const waitMs = backoffMs(attempt, options.baseMs, options.capMs, entropy);
      const tooLate = clock.monotonic() + waitMs >= options.untilMonotonic;
      if (!isTransient(failure) || tooLate || isAborted(options.signal)) throw failure;
      await sleep(clock, waitMs, options.signal);
      if (isAborted(options.signal)) throw failure;
    }
  }
}

/** Asked anew after each wait. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** Doubling back-off with jitter: between a quarter and all of min(cap, base x 2^attempt). */
export function backoffMs(attempt: number, baseMs: number, capMs: number, entropy: Entropy): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(attempt, 50));
  return ceiling * (0.25 + 0.75 * entropy.random());
}
