import type { EmulatorClock, EmulatorTimer } from "../clock.ts";
import { createLinkedList } from "../linked-list.ts";
import type { Message } from "./message.ts";

/** A long poll that found nothing yet. */
export interface WaitRequest {
  readonly max: number;
  readonly visibilityMs: number;
  readonly waitMs: number;
  readonly attemptId: string | undefined;
  /** Calls back when the client has gone; it is then dropped, and nothing is leased to it any more. */
  readonly onGone: (listener: () => void) => void;
}

/** Long polls, served in the order in which they came; one that finds nothing goes on waiting. */
export interface Waiters {
  isEmpty(): boolean;
  /** Resolves with what a later `serve` takes, or with nothing when the time is over. */
  wait(request: WaitRequest): Promise<readonly Message[]>;
  /** Lets each take what it can, the one that waits longest first, until there is nothing for one. */
  serve(take: (request: WaitRequest) => readonly Message[]): void;
  /** All end now with nothing. */
  dismiss(): void;
}

interface Waiter {
  readonly request: WaitRequest;
  readonly end: (messages: readonly Message[]) => void;
}

export function createWaiters(clock: EmulatorClock): Waiters {
  const waiting = createLinkedList<Waiter>();
  return {
    isEmpty: () => waiting.first() === undefined,
    wait: (request) =>
      new Promise((resolve) => {
        let ended = false;
        const end = (messages: readonly Message[]): void => {
          if (ended) return;
          ended = true;
          timer.cancel();
          waiting.remove(place);
          resolve(messages);
        };
        const place = waiting.append({ request, end });
        const timer: EmulatorTimer = clock.setTimer(request.waitMs, () => end([]));
        request.onGone(() => end([]));
      }),
    serve(take) {
      for (let place = waiting.first(); place !== undefined; place = waiting.first()) {
        const messages = take(place.value.request);
        if (messages.length === 0) return;
        place.value.end(messages);
      }
    },
    dismiss() {
      for (let place = waiting.first(); place !== undefined; place = waiting.first()) place.value.end([]);
    },
  };
}
