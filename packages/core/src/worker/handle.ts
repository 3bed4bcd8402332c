import type { Clock } from "../clock.ts";
import type { Delivery } from "../queue/driver.ts";
import { refusal } from "../util/issues.ts";
import type { Disposition } from "./intake.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import { LAST_PART_MS } from "./stop.ts";

export interface HandleOptions {
  /**
   * Wall time, ms, at which the runtime ends the call; 5 s before it (at most half of the time that is left) the worker acts as at
   * a shutdown.
   */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** How a call is ended before its deadline, in shares of the last part: handlers that ignore their signal are given up, the caller is answered. */
const GIVE_UP_SHARE = 0.2;
const ANSWER_SHARE = 0.1;

/** Throws `InvalidArgument` for what cannot be handled: it comes from code that is not this project's. */
export function checkHandled(delivery: Delivery, options: HandleOptions): void {
  if (typeof delivery !== "object" || delivery === null)
    throw refusal("handle.delivery", delivery, "a delivery, as the adapter of the queue makes it from an event");
  for (const field of ["token", "messageId", "body"] as const) {
    if (typeof delivery[field] !== "string") throw refusal(`handle.delivery.${field}`, delivery[field], "text");
  }
  if (!Number.isFinite(delivery.leaseMs))
    throw refusal("handle.delivery.leaseMs", delivery.leaseMs, "how long the broker holds the message from now on, ms");
  if (options.deadlineMs !== undefined && !Number.isFinite(options.deadlineMs))
    throw refusal("handle.deadlineMs", options.deadlineMs, "a wall time in ms, such as Date.now() + 30_000");
}

/**
 * Handles one delivery under the deadline and the signal of its caller. Past the deadline the runtime ends the call: nothing is
 * renewed any more, and the broker brings the message again.
 */
export async function handleUntil(
  clock: Clock,
  takeIn: (shutdown: Shutdown) => Promise<Disposition>,
  options: HandleOptions,
): Promise<Disposition> {
  const { deadlineMs, signal } = options;
  const shutdown = createShutdown();
  const abort = (): void => shutdown.abort();
  const leftMs = deadlineMs === undefined ? undefined : Math.max(deadlineMs - clock.now(), 0);
  if (signal?.aborted === true || leftMs === 0) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  const done = takeIn(shutdown);
  if (leftMs === undefined) return done.finally(() => signal?.removeEventListener("abort", abort));

  const lastPartMs = Math.min(LAST_PART_MS, leftMs / 2);
  let answer: (disposition: Disposition) => void = () => undefined;
  const late = new Promise<Disposition>((resolve) => {
    answer = resolve;
  });
  const timers = [
    clock.setTimer(leftMs - lastPartMs, abort),
    clock.setTimer(leftMs - lastPartMs * GIVE_UP_SHARE, () => void shutdown.giveUp()),
    clock.setTimer(leftMs - lastPartMs * ANSWER_SHARE, () => {
      shutdown.lose();
      answer("retry");
    }),
  ];
  try {
    return await Promise.race([done, late]);
  } finally {
    for (const timer of timers) timer.cancel();
    signal?.removeEventListener("abort", abort);
  }
}
