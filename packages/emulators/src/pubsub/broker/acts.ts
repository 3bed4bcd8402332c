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

  return {
    expire: (messageId) =>
      act(messageId, (entry) => {
        if (entry.state === "ready") return false;
        if (entry.state === "leased") shelf.giveBack(entry, true);
        else shelf.reveal(entry);
        return true;
      }),
    duplicate: (messageId) =>
      act(messageId, ({ line, message }) => {
        // A message of a line comes again with all that follow it, which is what `expire` does (PS-45).
        if (line !== undefined || config().enableExactlyOnceDelivery === true) return false;
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
      const found: Record<Entry["state"], number> = { ready: 0, leased: 0, delayed: 0 };
      for (const { state } of shelf.entries()) found[state]++;
      return { visible: found.ready, inFlight: found.leased, delayed: found.delayed };
    },
  };
}
