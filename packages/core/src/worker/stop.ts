import { type Clock, sleep } from "../clock.ts";
import type { Lanes } from "./lanes.ts";
import type { Settler } from "./settler.ts";
import type { Shutdown } from "./shutdown.ts";

export interface StopParts {
  readonly clock: Clock;
  /** All the time that the stop may take, ms. */
  readonly stopMs: number;
  readonly lanes: Lanes;
  readonly settler: Settler;
  readonly shutdown: Shutdown;
  /** Resolves when the last open poll was answered. */
  readonly polling: Promise<void>;
  /** Resolves when recovery has ended. */
  readonly recovering: Promise<void>;
  /** Resolves when all that was taken in has come to its end. */
  readonly drained: () => Promise<void>;
}

/** The part of the stop time that is kept for abort, release and flush, ms; at most half of it. */
export const LAST_PART_MS = 5_000;

/** The end of that part, for what handlers that ignore their signal still hold, ms. */
const GIVE_UP_MS = 1_000;

/** For the flush, at least, ms: what was ended shall not come again because of a short stop. */
const FLUSH_MS = 1_000;

/** Stops in order: handlers finish while their leases are renewed; then the rest is aborted, given back, flushed. */
export async function stopInOrder(parts: StopParts): Promise<void> {
  const { clock, stopMs, lanes, settler, shutdown, drained } = parts;
  const stopAt = clock.monotonic() + stopMs;
  const lastPartAt = stopAt - Math.min(LAST_PART_MS, stopMs / 2);
  const until = (at: number, work: Promise<unknown>): Promise<void> => atMost(clock, at - clock.monotonic(), work);

  await until(lastPartAt, parts.polling);
  await until(lastPartAt, lanes.releaseAll());
  await until(lastPartAt, drained());
  shutdown.abort();
  await until(stopAt - GIVE_UP_MS, drained());
  await until(stopAt, shutdown.giveUp());
  shutdown.lose();
  // A ring or a read of recovery that is under way may end; what hangs is left.
  await until(Math.max(stopAt, clock.monotonic() + FLUSH_MS), Promise.all([settler.flush(), parts.recovering]));
}

/** Waits for the work, at most this long; leaves no timer behind. */
async function atMost(clock: Clock, waitMs: number, work: Promise<unknown>): Promise<void> {
  const enough = new AbortController();
  const done = work.finally(() => enough.abort());
  await Promise.race([done, sleep(clock, waitMs, enough.signal)]);
}
