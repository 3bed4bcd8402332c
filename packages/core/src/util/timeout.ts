import type { Clock } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";

/**
 * Waits for a call at most `waitMs`. After that the call goes on by itself, and the wait ends with a `DeadlineExceeded`:
 * the call may still be applied.
 */
export function within<T>(clock: Clock, waitMs: number, doing: string, call: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(waitMs, () => {
      reject(new LeaseholdError("DeadlineExceeded", `${doing}: no answer within ${Math.round(waitMs)} ms`));
    });
    call.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
