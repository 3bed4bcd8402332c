import type { BrokerActs } from "../../broker-acts.ts";
import type { Entry } from "./entry.ts";
import type { SubscriptionConfig } from "./settings.ts";
import type { Shelf } from "./shelf.ts";

export interface ActsContext {
  readonly shelf: Shelf;
  readonly serve: () => void;
  readonly config: () => SubscriptionConfig;
  /** Forwards it as if it had been delivered too often; false: there is no policy, or no topic. */
  readonly bury: (entry: Entry) => boolean;
}

export function createActs({ shelf, serve, config, bury }: ActsContext): BrokerActs {
  function act(messageId: string, change: (entry: Entry) => boolean): boolean {
    shelf.settleTime();
    for (const entry of shelf.entries()) {
      if (entry.message.id !== messageId) continue;
      const done = change(entry);
      serve();
      return done;
    }
    return false;
  }

  function count(state: Entry["state"]): number {
    let found = 0;
    for (const entry of shelf.entries()) if (entry.state === state) found++;
    return found;
  }

  return {
    expire: (messageId) =>
      act(messageId, (entry) => {
        if (entry.state === "ready") return false;
        if (entry.state === "leased") shelf.giveBack(entry, true);
        else shelf.reveal(entry);
        return true;
      }),
    duplicate: (messageId) =>
      act(messageId, ({ message }) => {
        if (config().enableExactlyOnceDelivery === true) return false;
        shelf.add(message);
        return true;
      }),
    lose: (messageId) =>
      act(messageId, (entry) => {
        shelf.remove(entry);
        return true;
      }),
    deadLetterByCount: (messageId) =>
      act(messageId, (entry) => {
        if (!bury(entry)) return false;
        shelf.remove(entry);
        return true;
      }),
    messageIds() {
      shelf.settleTime();
      return Array.from(shelf.entries(), ({ message }) => message.id);
    },
    counts() {
      shelf.settleTime();
      return { visible: count("ready"), inFlight: count("leased"), delayed: count("delayed") };
    },
  };
}
