import type { Clock } from "../clock.ts";
import type { Entropy } from "../entropy.ts";
import { fromUnknown, LeaseholdError } from "../errors.ts";
import type { OutgoingMessage, QueueDriver } from "../queue/driver.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { retrying } from "../util/retry.ts";
import { within } from "../util/timeout.ts";
import type { PayloadStore } from "./payload-store.ts";

/** Everything that the parts of one client share. */
export interface ClientContext {
  readonly queue: QueueDriver;
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly telemetry: Telemetry;
  readonly payloadStore: PayloadStore | undefined;
  readonly recoverAfterMs: number;
  readonly retentionMs: number;
  /** How long a call is made again while it fails in a transient way, ms. */
  readonly retryForMs: number;
}

/** What became of the message of a task whose record is written. */
export type DeliveryReport =
  | { readonly delivery: "sent" }
  /** The recovery loop of a worker rings it. `sendError`: why it was not sent now; absent: it is not due for longer than the broker holds. */
  | { readonly delivery: "left_to_recovery"; readonly sendError?: LeaseholdError };

const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/** A call that gives no answer is given up after this, ms, or when the time for retries is over. */
const MIN_TRY_MS = 5_000;

/** Makes a call that may be made twice, again while it fails in a transient way. */
export function retried<T>(
  context: ClientContext,
  doing: string,
  call: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const { clock, entropy } = context;
  const untilMonotonic = clock.monotonic() + context.retryForMs;
  const bounded = (): Promise<T> =>
    within(clock, Math.max(untilMonotonic - clock.monotonic(), MIN_TRY_MS), doing, call());
  return retrying(bounded, {
    clock,
    entropy,
    doing,
    untilMonotonic,
    baseMs: RETRY_BASE_MS,
    capMs: RETRY_CAP_MS,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Sends the message of a task that is safe in the store: a failure is a fact, not an error. */
export async function deliver(context: ClientContext, message: OutgoingMessage): Promise<DeliveryReport> {
  try {
    await retried(context, "send", () => sendOne(context.queue, message));
    return { delivery: "sent" };
  } catch (error) {
    const sendError = fromUnknown(error, "send");
    context.telemetry.callFailed("send", sendError.code);
    return { delivery: "left_to_recovery", sendError };
  }
}

async function sendOne(queue: QueueDriver, message: OutgoingMessage): Promise<void> {
  const [outcome] = await queue.send([message]);
  if (outcome === undefined)
    throw new LeaseholdError("Unknown", `the ${queue.provider} driver gave no outcome for a message`);
  if (outcome.status !== "confirmed") throw outcome.error;
}
