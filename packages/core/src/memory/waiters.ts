import type { Clock } from "../clock.ts";

/** Receives that wait for a message, served in the order in which they came. */
export interface Waiters<T> {
  size(): number;
  /** Waits until it is served, `waitMs` have passed or a signal aborts; the last two answer `none`. */
  wait(request: WaitRequest): Promise<T>;
  /** Offers each waiter, oldest first, what `take` finds for it, until it finds nothing. */
  serve(take: (request: TakeRequest) => T | undefined): void;
  /** Ends every wait with this error. */
  dismiss(error: unknown): void;
}

export interface TakeRequest {
  readonly max: number;
  readonly leaseMs: number;
}

export interface WaitRequest extends TakeRequest {
  readonly waitMs: number;
  /** Each of them ends the wait. */
  readonly signals: readonly AbortSignal[];
}

interface Waiter<T> {
  readonly request: WaitRequest;
  /** Leaves the line; nothing that happens later reaches this waiter. */
  leave(): void;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** `onGivenUp` is called after a waiter left unserved. */
export function createWaiters<T>(clock: Clock, none: T, onGivenUp: () => void): Waiters<T> {
  /** A set keeps the order of arrival and lets anyone leave at once. */
  const line = new Set<Waiter<T>>();

  return {
    size: () => line.size,
    wait: (request) =>
      new Promise<T>((resolve, reject) => {
        const giveUp = (): void => {
          waiter.leave();
          resolve(none);
          onGivenUp();
        };
        const timer = clock.setTimer(request.waitMs, giveUp);
        const waiter: Waiter<T> = {
          request,
          resolve,
          reject,
          leave() {
            line.delete(waiter);
            timer.cancel();
            for (const signal of request.signals) signal.removeEventListener("abort", giveUp);
          },
        };
        line.add(waiter);
        for (const signal of request.signals) signal.addEventListener("abort", giveUp, { once: true });
      }),
    serve(take) {
      for (const waiter of line) {
        const value = take(waiter.request);
        if (value === undefined) return;
        waiter.leave();
        waiter.resolve(value);
      }
    },
    dismiss(error) {
      for (const waiter of [...line]) {
        waiter.leave();
        waiter.reject(error);
      }
    },
  };
}
