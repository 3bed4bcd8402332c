import type { ServiceBusClient } from "@azure/service-bus";
import { LeaseholdError } from "@leasehold/core/driver";

/** Tells calls under way that their connection, or their link, is gone. */
export interface LossWatch {
  /**
   * The call, or `Unavailable` as soon as its connection is lost, or the link that it is made on: the SDK lets it wait for an
   * answer until its time is over. `lost` aborts then, for calls that open a link: the SDK asks for a token under a lock that
   * all its links share, and would hold that for a minute.
   */
  during<T>(doing: string, call: (lost: AbortSignal) => Promise<T>, link?: LinkEvents): Promise<T>;
  /** Calls back at the next loss, once; answers how to stop that. */
  next(lost: () => void): () => void;
  /** Resolves when a lost connection has been replaced. What is opened before that, the SDK opens twice. */
  replaced(): Promise<void>;
  /** The connection that there is now, while it is open. */
  current(): object | undefined;
}

/** What tells once that it is gone. */
interface Emitter<Event extends string> {
  once(event: Event, listener: () => void): unknown;
}

/** A receiver's link of the AMQP library. */
export type LinkEvents = Emitter<"receiver_close">;

/** What is asked of the SDK's connection, which its types do not show. Another version may have none: then calls run into their time-outs. */
interface Connection extends Emitter<"disconnected"> {
  isOpen(): boolean;
}

export function createLossWatch(client: ServiceBusClient): LossWatch {
  /** By connection and link, since lost ones are replaced. One listener of each: there may be many calls. */
  const listeners = new WeakMap<object, Set<() => void>>();

  function listen<Event extends string>(emitter: Emitter<Event>, event: Event, lost: () => void): () => void {
    const waiting = listeners.get(emitter) ?? new Set();
    if (!listeners.has(emitter)) {
      listeners.set(emitter, waiting);
      emitter.once(event, () => {
        for (const told of waiting) told();
        waiting.clear();
      });
    }
    waiting.add(lost);
    return () => waiting.delete(lost);
  }

  function next(lost: () => void): () => void {
    const connection = connectionOf(client);
    if (connection === undefined) return () => undefined;
    sendAtOnce(connection);
    return listen(connection, "disconnected", lost);
  }

  return {
    next,
    async replaced() {
      const context = contextOf(client);
      const ready: unknown = context && Reflect.get(context, "readyToOpenLink");
      if (typeof ready === "function") await ready.call(context);
    },
    current() {
      const connection = connectionOf(client);
      return connection?.isOpen() === true ? connection : undefined;
    },
    async during(doing, call, link) {
      const lost = Promise.withResolvers<never>();
      const loss = new AbortController();
      const lose = (what: string) => (): void => {
        // What the SDK itself says of it comes first: it knows whether there was a connection at all.
        process.nextTick(() => {
          lost.reject(new LeaseholdError("Unavailable", `${doing}: the ${what} was lost`));
          loss.abort();
        });
      };
      const stops = [next(lose("connection")), link && listen(link, "receiver_close", lose("link"))];
      try {
        return await Promise.race([call(loss.signal), lost.promise]);
      } finally {
        for (const stop of stops) stop?.();
      }
    },
  };
}

/**
 * A settle and a request right after it are two small writes, and the second would wait for the acknowledgement of the first,
 * 40 ms or more. The option is one of the AMQP library below; it counts for a connection that is not open yet.
 */
function sendAtOnce(connection: Connection): void {
  const options: unknown = Reflect.get(connection, "options");
  if (typeof options === "object" && options !== null) Reflect.set(options, "tcp_no_delay", true);
}

function contextOf(client: ServiceBusClient): object | undefined {
  const context: unknown = Reflect.get(client, "_connectionContext");
  return typeof context === "object" && context !== null ? context : undefined;
}

function connectionOf(client: ServiceBusClient): Connection | undefined {
  const context = contextOf(client);
  const connection: unknown = context && Reflect.get(context, "connection");
  return isConnection(connection) ? connection : undefined;
}

function isConnection(value: unknown): value is Connection {
  if (typeof value !== "object" || value === null) return false;
  return ["once", "isOpen"].every((name) => typeof Reflect.get(value, name) === "function");
}
