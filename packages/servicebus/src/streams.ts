import type { ServiceBusReceivedMessage, ServiceBusReceiver } from "@azure/service-bus";
import { type Clock, LeaseholdError, sleep } from "@leasehold/core/driver";
import { closeInTime } from "./client.ts";
import { stopDrained } from "./drain.ts";
import { fromServicebus } from "./errors.ts";
import type { LossWatch } from "./losses.ts";
import type { Arrival } from "./messages.ts";

/** What a receive asks of the broker. */
export interface Asked {
  readonly max: number;
  readonly waitMs: number;
  /** Aborts when nobody waits any longer. */
  readonly signal: AbortSignal;
}

/**
 * Receives from an entity without sessions. Each receive opens a stream of as many calls as it asks for and stops it again,
 * which takes back what was not used: so the first message is here as soon as it was sent, those that come along with it
 * are in the same answer, and nothing is locked that nobody asked for. The SDK's own batch receive waits for a second after
 * the first message (SB-41), and drops what comes while it is aborted.
 */
export interface Streams {
  receive(asked: Asked): Promise<readonly Arrival[]>;
  close(): Promise<void>;
}

export interface StreamParts {
  readonly clock: Clock;
  readonly doing: string;
  /** Each receiver has a link of its own. */
  readonly createReceiver: () => ServiceBusReceiver;
  readonly arrivalOf: (message: ServiceBusReceivedMessage) => Arrival;
  readonly watch: LossWatch;
  /** For a message that came although nobody waits any longer. */
  readonly giveBack: (message: ServiceBusReceivedMessage) => void;
}

export function createStreams(parts: StreamParts): Streams {
  const { clock, doing, watch, createReceiver } = parts;
  const links = new Set<Link>();

  /** A link that broke is not used again: the SDK opens it anew by itself, and with that grants what was asked for twice. */
  function isSound({ connection, isBroken }: Link): boolean {
    return !isBroken && connection !== undefined && connection === watch.current();
  }

  async function borrow(size: number): Promise<Link> {
    for (const link of links) {
      if (!link.isResting) continue;
      if (!isSound(link)) {
        links.delete(link);
        void closeInTime([link.receiver]);
      } else if (link.size === size) {
        link.isResting = false;
        return link;
      }
    }
    await watch.replaced();
    const link: Link = { receiver: createReceiver(), size, isResting: false, isBroken: false };
    links.add(link);
    return link;
  }

  return {
    async receive(asked) {
      // Few links, each for a power of two: a receive may bring less than it asked for, never more.
      const size = 2 ** Math.floor(Math.log2(asked.max));
      const link = await borrow(size);
      if (asked.signal.aborted) {
        link.isResting = true;
        return [];
      }
      const listening = listen(parts, link);
      const rest = (): void => {
        link.connection = watch.current();
        link.isResting = true;
      };
      const waited = new AbortController();
      const wait = asked.waitMs === 0 ? undefined : sleep(clock, asked.waitMs, waited.signal);
      const aborted = onAbort(asked.signal);
      // The wait is over when there was time for an answer, too: a link that is new takes a while.
      const over = Promise.all([listening.granted, wait]);
      await Promise.race([listening.arrived, listening.failed, over, aborted.promise]);
      waited.abort();
      aborted.release();
      if (asked.signal.aborted) {
        void listening.stop("unheard").then(rest);
        return [];
      }
      const isDrained = await listening.stop("heard");
      rest();
      const { arrivals, failure } = listening;
      if (arrivals.length > 0) return arrivals;
      if (failure !== undefined) throw fromServicebus(failure, doing);
      if (!isDrained) throw new LeaseholdError("Unavailable", `${doing}: the link was lost, and what came on it`);
      return [];
    },
    close: () => closeInTime([...links].map(({ receiver }) => receiver)),
  };
}

/** A receiver with its link, which takes as many calls at a time as the SDK was told at its first use. */
interface Link {
  readonly receiver: ServiceBusReceiver;
  readonly size: number;
  /** Where it was open last. */
  connection?: object | undefined;
  /** Nobody receives on it. */
  isResting: boolean;
  /** The broker closed it, or could not open it. */
  isBroken: boolean;
}

interface Listening {
  /** At least one message is there. */
  readonly arrived: Promise<void>;
  /** The broker has been asked. */
  readonly granted: Promise<void>;
  /** The link could not be opened, or was lost. */
  readonly failed: Promise<void>;
  readonly arrivals: readonly Arrival[];
  readonly failure: unknown;
  /** Takes back what was asked for. `unheard`: nobody takes what comes until then. `false`: the broker did not say that it has. Never rejects. */
  stop(how: "heard" | "unheard"): Promise<boolean>;
}

function listen(parts: StreamParts, link: Link): Listening {
  const { arrivalOf, giveBack, watch, doing } = parts;
  const arrivals: Arrival[] = [];
  const arrived = Promise.withResolvers<void>();
  const granted = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const opening = new AbortController();
  let isHeard = true;
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    link.isBroken = true;
    failed.resolve();
  };
  // The SDK would open the link anew, and say nothing of what came on the old one.
  const stopWatching = watch.next(() => fail(new LeaseholdError("Unavailable", `${doing}: the connection was lost`)));

  const handlers = {
    /** Lasts until the stream is stopped: its end would ask for one more message. */
    async processMessage(message: ServiceBusReceivedMessage): Promise<void> {
      if (isHeard && arrivals.length < link.size) {
        arrivals.push(arrivalOf(message));
        arrived.resolve();
      } else giveBack(message);
      await stopped.promise;
    },
    async processError({ error }: { readonly error: unknown }): Promise<void> {
      fail(error);
    },
    /**
     * Not in the SDK's types, and called by it when the link is there, at once before it grants the credit; without it a
     * receive that does not wait would take the credit back before it was granted.
     */
    async postInitialize(): Promise<void> {
      process.nextTick(granted.resolve);
    },
  };
  let subscription: { close(): Promise<void> } | undefined;
  try {
    subscription = link.receiver.subscribe(handlers, {
      maxConcurrentCalls: link.size,
      autoCompleteMessages: false,
      abortSignal: opening.signal,
    });
  } catch (error) {
    fail(error);
  }
  return {
    arrived: arrived.promise,
    granted: granted.promise,
    failed: failed.promise,
    arrivals,
    get failure() {
      return failure;
    },
    async stop(how) {
      const stopping = stopDrained(link.receiver, failed.promise, () => {
        const closing = subscription?.close();
        // From here on nothing more is asked for, so the calls may end.
        stopped.resolve();
        // A link that cannot be opened would be tried for ever.
        if (failure !== undefined) opening.abort();
        return closing;
      });
      if (how === "unheard") {
        isHeard = false;
        for (const { message } of arrivals.splice(0)) giveBack(message);
      }
      let isDrained = false;
      try {
        isDrained = await stopping;
      } catch (error) {
        fail(error);
      }
      stopWatching();
      isHeard = false;
      return isDrained;
    },
  };
}

function onAbort(signal: AbortSignal): { readonly promise: Promise<void>; release(): void } {
  const aborted = Promise.withResolvers<void>();
  const abort = (): void => aborted.resolve();
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return { promise: aborted.promise, release: () => signal.removeEventListener("abort", abort) };
}
