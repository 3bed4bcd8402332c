import { createAlarm } from "../../alarm.ts";
import type { EmulatorClock } from "../../clock.ts";
import type { TopicSettings } from "../entity-settings.ts";
import { createInbox, type Inbox } from "./inbox.ts";
import { createInventory } from "./inventory.ts";
import type { Message } from "./message.ts";
import { type Queue, reason } from "./queue.ts";
import { createSettlement } from "./settlement.ts";

/** Takes messages in and copies each to every subscription. What is scheduled waits here, and goes to those that are there then. */
export interface Topic {
  readonly path: string;
  readonly inbox: Inbox;
  subscribe(subscription: Queue): void;
}

export function createTopic(clock: EmulatorClock, path: string, settings: Required<TopicSettings>): Topic {
  const subscriptions: Queue[] = [];
  const inventory = createInventory(clock, {
    requiresSession: false,
    lockDurationMs: Number.POSITIVE_INFINITY,
    maxDeliveryCount: Number.POSITIVE_INFINITY,
    timeToLiveMs: undefined,
    exhausted() {},
    expired() {},
    shown: forward,
  });
  const alarm = createAlarm(clock, changed);

  function changed(): void {
    inventory.settleTime();
    alarm.set(inventory.nextDueAt());
  }

  function forward(message: Message): void {
    const { content, enqueuedSequenceNumber } = message;
    inventory.remove(message);
    for (const subscription of subscriptions) {
      const origin = { enqueuedSequenceNumber };
      if (!subscription.settings.requiresSession || content.sessionId !== undefined) subscription.put(content, origin);
      else {
        const description = "Session enabled entity doesn't allow a message whose session identifier is null.";
        subscription.deadLetters?.put(content, {
          ...origin,
          deadLetterSource: subscription.path,
          properties: reason("Session id is null.", description),
        });
      }
    }
  }

  const settlement = createSettlement(inventory, { requiresSession: false, bury() {} }, changed);
  return {
    path,
    inbox: createInbox(clock, {
      ...settings,
      requiresSession: false,
      store: (content, scheduledAt) => inventory.add(content, {}, scheduledAt).sequenceNumber,
      cancelScheduled: settlement.cancelScheduled,
      changed,
    }),
    subscribe: (subscription) => void subscriptions.push(subscription),
  };
}
