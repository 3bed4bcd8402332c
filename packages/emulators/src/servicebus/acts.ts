import type { BrokerActs } from "../broker-acts.ts";
import type { Message } from "./broker/message.ts";
import { maxDeliveryCountExceeded, type Queue } from "./broker/queue.ts";

export function createActs(queue: Queue): BrokerActs {
  const { inventory, settings } = queue;

  function act(messageId: string, change: (message: Message) => boolean): boolean {
    inventory.settleTime();
    for (const message of inventory.messages.from(0)) {
      // A sender gives an id, the broker a number; a receiver sees both.
      if (message.content.id !== messageId && String(message.sequenceNumber) !== messageId) continue;
      const done = change(message);
      queue.changed();
      return done;
    }
    return false;
  }

  return {
    expire: (messageId) =>
      act(messageId, (message) => {
        const { lock, state, session } = message;
        if (lock === undefined && state !== "scheduled") return false;
        if (lock === undefined || session === undefined) inventory.free(message, true);
        else {
          // A session has one lock for all that it handed out (SB-03).
          const { holder } = session;
          inventory.freeSession(session, true);
          holder?.lost();
        }
        return true;
      }),
    duplicate: (messageId) =>
      act(messageId, ({ content, deliveryCount, properties }) => {
        if (settings.duplicateDetectionWindowMs > 0) return false;
        inventory.add(content, { deliveryCount, properties });
        return true;
      }),
    lose: (messageId) =>
      act(messageId, (message) => {
        inventory.remove(message);
        return true;
      }),
    deadLetterByCount: (messageId) =>
      act(messageId, (message) => queue.bury(message, maxDeliveryCountExceeded(settings.maxDeliveryCount))),
    messageIds() {
      inventory.settleTime();
      return [...inventory.messages.from(0)].map(({ content }) => content.id);
    },
    counts: inventory.counts,
  };
}
