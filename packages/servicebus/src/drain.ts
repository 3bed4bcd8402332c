import type { ServiceBusReceiver } from "@azure/service-bus";
import { sleep, systemClock } from "@leasehold/core/driver";

/** What is asked of the SDK's link, which its types do not show. */
interface CreditLink {
  /** Messages that the broker may still send. */
  readonly credit: number;
  drain: boolean;
  isOpen(): boolean;
  drainCredit(): void;
  once(event: "receiver_drained", listener: () => void): unknown;
  removeListener(event: "receiver_drained", listener: () => void): unknown;
}

/**
 * The SDK closes a link that has not said after this time, ms, that its credit is taken back. Whatever the broker may have
 * sent on it is locked and lost until its lock ends.
 */
const SDK_PATIENCE_MS = 200;
/** Timers of Node may be early by a fraction of a millisecond. */
const UNANSWERED_MS = SDK_PATIENCE_MS - 5;
/** As long as any other call: a line may be slow, and a machine busy. */
const PATIENCE_MS = 8_000;

/**
 * Takes back what a stream asked for and has not got, and stops it then: without credit the SDK has nothing to wait for. The
 * broker is asked before this returns. Resolves with `false` when it did not say that it has, for as long as `lost` does not
 * resolve. Rejects as `stop` does.
 */
export async function stopDrained(
  receiver: ServiceBusReceiver,
  lost: Promise<void>,
  stop: () => Promise<void> | undefined,
): Promise<boolean> {
  const stream = streamOf(receiver);
  if (stream !== undefined) {
    const { link } = stream;
    // On a link that is not there yet nothing was asked for.
    const isDrained = link === undefined || link.credit === 0 || !link.isOpen() || (await drained(link, lost));
    await stop();
    return isDrained;
  }
  // Another version of the SDK may have no such link, and drains by itself.
  const from = systemClock.monotonic();
  await stop();
  return systemClock.monotonic() - from < UNANSWERED_MS;
}

async function drained(link: CreditLink, lost: Promise<void>): Promise<boolean> {
  const answered = Promise.withResolvers<true>();
  const answer = (): void => {
    link.drain = false;
    answered.resolve(true);
  };
  const enough = new AbortController();
  link.once("receiver_drained", answer);
  link.drainCredit();
  const unanswered = Promise.race([lost, sleep(systemClock, PATIENCE_MS, enough.signal)]).then(() => false);
  try {
    return await Promise.race([answered.promise, unanswered]);
  } finally {
    enough.abort();
    link.removeListener("receiver_drained", answer);
  }
}

function streamOf(receiver: ServiceBusReceiver): { readonly link: CreditLink | undefined } | undefined {
  const stream: unknown = Reflect.get(receiver, "_streamingReceiver");
  if (typeof stream !== "object" || stream === null || !("link" in stream)) return undefined;
  const { link } = stream;
  return link === undefined || isCreditLink(link) ? { link } : undefined;
}

function isCreditLink(value: unknown): value is CreditLink {
  if (typeof value !== "object" || value === null || typeof Reflect.get(value, "credit") !== "number") return false;
  const methods = ["isOpen", "drainCredit", "once", "removeListener"];
  return methods.every((name) => typeof Reflect.get(value, name) === "function");
}
