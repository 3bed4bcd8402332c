import { setImmediate as turn } from "node:timers/promises";
import type { Timeline } from "@leasehold/core/memory";

/** Time that a case moves by hand although real sockets are in between: it stands still while a request or an answer travels. */
export interface PlayedServer {
  /** A middleware for clients: their requests are waited for. */
  counted<Request, Answer>(next: (request: Request) => Promise<Answer>): (request: Request) => Promise<Answer>;
  /** Everything under way has come to rest: what is open still is a long poll at the server. */
  rest(): Promise<void>;
  wait(ms: number): Promise<void>;
  until<T>(call: Promise<T>): Promise<T>;
}

/** Turns of the event loop without a change that count as rest. */
const STILL_TURNS = 3;

/** `openCalls`: requests that have arrived at the server and are not answered. */
export function playServer(timeline: Timeline, openCalls: () => number): PlayedServer {
  const clock = timeline.clock();
  let started = 0;
  let ended = 0;

  async function rest(): Promise<void> {
    let still = 0;
    let seen = Number.NaN;
    while (still < STILL_TURNS) {
      await turn();
      still = started - ended === openCalls() && started === seen ? still + 1 : 0;
      seen = started;
    }
  }

  return {
    rest,
    counted: (next) => async (request) => {
      started++;
      try {
        return await next(request);
      } finally {
        ended++;
      }
    },
    async wait(ms) {
      let isOver = false;
      await rest();
      clock.setTimer(ms, () => {
        isOver = true;
      });
      while (!isOver) {
        await timeline.runNext();
        await rest();
      }
      // What else is due at that instant.
      await timeline.advance(0);
      await rest();
    },
    async until(call) {
      let isOver = false;
      const note = (): void => {
        isOver = true;
      };
      call.then(note, note);
      await rest();
      while (!isOver) {
        if (!(await timeline.runNext()))
          throw new Error("the call does not end, and no timer is left that could end it");
        await rest();
      }
      return call;
    },
  };
}
