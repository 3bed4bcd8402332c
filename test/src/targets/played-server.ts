import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import type { ItemStore } from "@leasehold/core/driver";
import type { Timeline } from "@leasehold/core/memory";
import { watchSockets } from "./socket-watch.ts";

/**
 * Time that a case moves by hand although real sockets are in between: it stands still while anything travels, whatever the
 * protocol, and whichever side began. Servers and clients have to be in this process, and to be started after this.
 */
export interface PlayedServer {
  /** The same items, where a call is waited for until it is answered: their server works without a byte on the wire. */
  answered(items: ItemStore): ItemStore;
  /** Everything under way has come to rest: whoever waits still, waits for time. */
  rest(): Promise<void>;
  wait(ms: number): Promise<void>;
  until<T>(call: Promise<T>): Promise<T>;
  /** Goes from timer to timer until the condition holds. Throws when it does not within that time. */
  becomes(condition: () => boolean | Promise<boolean>, withinMs: number): Promise<void>;
  /** Time is played no more. */
  end(): void;
}

/** Turns of the event loop without a change that count as rest. */
const STILL_TURNS = 3;
/** The shortest timer that Node has. */
const SHORTEST_MS = 1;

/** `pauseMs`: what a client may wait in real time between two steps; timers of Node go off in the order in which they are due. */
export function playServer(timeline: Timeline, { pauseMs = 0 }: { readonly pauseMs?: number } = {}): PlayedServer {
  const clock = timeline.clock();
  const sockets = watchSockets();
  let asked = 0;
  let unanswered = 0;
  /** Of the last rest: without a byte since then no client is between two steps. */
  let restedAt = 0;

  async function rest(): Promise<void> {
    let still = 0;
    let seen = Number.NaN;
    while (still < STILL_TURNS) {
      await turn();
      const count = sockets.count() + asked;
      const isStill = unanswered === 0 && count === seen && sockets.isQuiet();
      still = isStill ? still + 1 : 0;
      seen = count;
      if (still < STILL_TURNS || pauseMs === 0 || seen === restedAt) continue;
      // A client that goes from one timer to the next sets each before the pause that waits for it, however late the machine is.
      for (let waitedMs = 0; waitedMs < pauseMs; waitedMs += SHORTEST_MS) {
        await pause(SHORTEST_MS);
        await turn();
      }
      if (sockets.count() + asked !== seen) still = 0;
    }
    restedAt = seen;
  }

  async function answer<T>(call: Promise<T>): Promise<T> {
    asked++;
    unanswered++;
    try {
      return await call;
    } finally {
      unanswered--;
    }
  }

  return {
    rest,
    end: sockets.stop,
    answered: (items) => ({
      get: (key) => answer(items.get(key)),
      put: (key, item, condition) => answer(items.put(key, item, condition)),
      update: (key, update, condition) => answer(items.update(key, update, condition)),
      query: (query) => answer(items.query(query)),
      close: () => items.close(),
    }),
    async wait(ms) {
      const end = clock.now() + ms;
      await rest();
      // More than once for weeks: a single timer is not that long.
      while (clock.now() < end) {
        let isOver = false;
        clock.setTimer(end - clock.now(), () => {
          isOver = true;
        });
        while (!isOver) {
          await timeline.runNext();
          await rest();
        }
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
    async becomes(condition, withinMs) {
      const end = timeline.now() + withinMs;
      await rest();
      while (!(await condition())) {
        if (timeline.now() > end) throw new Error(`the condition did not hold within ${withinMs} ms`);
        if (!(await timeline.runNext())) throw new Error("the condition does not hold, and no timer is left");
        await rest();
      }
    },
  };
}
