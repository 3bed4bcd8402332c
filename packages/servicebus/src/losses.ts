import type { ServiceBusClient } from "@azure/service-bus";
import { LeaseholdError } from "@leasehold/core/driver";

/** Tells calls under way that their connection is gone. */
export interface LossWatch {
  /** The call, or `Unavailable` as soon as its connection is lost: the SDK lets it wait for an answer until its time is over. */
  during<T>(doing: string, call: () => Promise<T>): Promise<T>;
  /** Calls back at the next loss, once; answers how to stop that. */
  next(lost: () => void): () => void;
  /** Resolves when a lost connection has been replaced. What is opened before that, the SDK opens twice. */
  replaced(): Promise<void>;
  /** The connection that there is now, while it is open. */
  current(): object | undefined;
}

/** What is asked of the SDK's connection, which its types do not show. Another version may have none: then calls run into their time-outs. */
interface Connection {
  once(event: "disconnected", listener: () => void): unknown;
  isOpen(): boolean;
}

export function createLossWatch(client: ServiceBusClient): LossWatch {
  /** By connection, since a lost one is replaced. */
  const listeners = new WeakMap<Connection, Set<() => void>>();

  function listenersOf(connection: Connection): Set<() => void> {
    const known = listeners.get(connection);
    if (known !== undefined) return known;
    const created = new Set<() => void>();
    listeners.set(connection, created);
    connection.once("disconnected", () => {
      for (const lost of created) lost();
      created.clear();
    });
    return created;
  }

  function next(lost: () => void): () => void {
    const connection = connectionOf(client);
    if (connection === undefined) return () => undefined;
    const waiting = listenersOf(connection);
    waiting.add(lost);
    return () => waiting.delete(lost);
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
    during(doing, call) {
      return new Promise((resolve, reject) => {
        const stop = next(() => {
          // What the SDK itself says of it comes first: it knows whether there was a connection at all.
          process.nextTick(() => reject(new LeaseholdError("Unavailable", `${doing}: the connection was lost`)));
        });
        call().then(resolve, reject).finally(stop);
      });
    },
  };
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
