import { createAlarm } from "../../alarm.ts";
import type { EmulatorClock } from "../../clock.ts";
import { notAllowed } from "../errors.ts";
import { type Consumer, createConsumers } from "./consumers.ts";
import { createInbox, type Inbox } from "./inbox.ts";
import { createInventory, type Inventory } from "./inventory.ts";
import type { Content, Message, Origin, Properties } from "./message.ts";
import { createSessionLocks, type SessionLocks } from "./session-locks.ts";
import type { QueueSettings } from "./settings.ts";
import { createSettlement, type Settlement } from "./settlement.ts";

/** What messages are received from: a queue, a subscription, or the dead letters of one of them. */
export interface Queue {
  /** As it is written in addresses: `q`, `topic/Subscriptions/sub`, `q/$DeadLetterQueue`. */
  readonly path: string;
  readonly settings: QueueSettings;
  readonly inventory: Inventory;
  readonly inbox: Inbox;
  readonly settlement: Settlement;
  readonly sessions: SessionLocks;
  /** Where its dead letters go; on a queue of dead letters `undefined`. */
  readonly deadLetters: Queue | undefined;
  /** Puts in what comes from elsewhere in the broker. */
  put(content: Content, origin: Origin): void;
  /** Moves one to the dead letters with properties that say why. False where there are none to go to. */
  bury(message: Message, properties: Properties): boolean;
  consume(consumer: Consumer): Consumption;
  /** Throws when receivers of this kind cannot receive here. */
  checkReceiver(wantsSession: boolean): void;
  /** Something was done to the inventory from outside: those who wait look again. */
  changed(): void;
}

/** One receiver at a queue. Once it has ended, or lost its session, there is nothing for it. */
export interface Consumption {
  /** What there is now, up to `max`. */
  take(max: number): readonly Message[];
  /** Asks to be served when there is something, until it has no capacity. */
  wait(): void;
  /** Its locks stay; they run out. */
  end(): void;
}

/** Why the broker dead-letters by itself (SB-32). */
export function reason(name: string, description: string): Properties {
  return { DeadLetterReason: name, DeadLetterErrorDescription: description };
}

export function maxDeliveryCountExceeded(deliveryCount: number): Properties {
  return reason("MaxDeliveryCountExceeded", `Message could not be consumed after ${deliveryCount} delivery attempts.`);
}

export function createQueue(
  clock: EmulatorClock,
  path: string,
  settings: QueueSettings,
  deadLetters: Queue | undefined,
): Queue {
  const inventory = createInventory(clock, {
    requiresSession: settings.requiresSession,
    lockDurationMs: settings.lockDurationMs,
    maxDeliveryCount: settings.maxDeliveryCount,
    timeToLiveMs: deadLetters === undefined ? undefined : settings.defaultTimeToLiveMs,
    exhausted: (message) => bury(message, maxDeliveryCountExceeded(message.deliveryCount)),
    expired(message) {
      if (!settings.deadLetterOnExpiration) return;
      bury(message, reason("TTLExpiredException", "The message expired and was dead lettered."));
    },
    shown(message) {
      if (message.session !== undefined) consumers.touch(message.session);
    },
  });
  const consumers = createConsumers(inventory);
  const alarm = createAlarm(clock, changed);
  const sessions = createSessionLocks(clock, inventory, settings.lockDurationMs, changed);

  function changed(): void {
    inventory.settleTime();
    sessions.serve();
    consumers.serve();
    alarm.set(inventory.nextDueAt());
  }

  function bury(message: Message, properties: Properties): boolean {
    if (deadLetters === undefined) {
      // It is where it belongs already.
      message.properties = { ...message.properties, ...properties };
      inventory.free(message, false);
      return false;
    }
    if (message.state !== "gone") inventory.remove(message);
    const { content, enqueuedSequenceNumber, enqueuedAt, deliveryCount } = message;
    const added = { ...message.properties, ...properties };
    deadLetters.put(content, {
      enqueuedSequenceNumber,
      enqueuedAt,
      deliveryCount,
      deadLetterSource: path,
      properties: added,
    });
    return true;
  }

  const settlement = createSettlement(inventory, { requiresSession: settings.requiresSession, bury }, changed);

  return {
    path,
    settings,
    inventory,
    settlement,
    sessions,
    deadLetters,
    inbox: createInbox(clock, {
      maxMessageBytes: settings.maxMessageBytes,
      duplicateDetectionWindowMs: settings.duplicateDetectionWindowMs,
      requiresSession: settings.requiresSession,
      store: (content, scheduledAt) => inventory.add(content, {}, scheduledAt).sequenceNumber,
      cancelScheduled: settlement.cancelScheduled,
      changed,
    }),
    put(content, origin) {
      inventory.add(content, origin);
      changed();
    },
    bury(message, properties) {
      if (deadLetters === undefined) return false;
      bury(message, properties);
      changed();
      return true;
    },
    consume(consumer) {
      const { hold, locks } = consumer;
      let isOver = false;
      return {
        take(max) {
          inventory.settleTime();
          if (isOver || hold?.isHeld() === false) return [];
          const taken = inventory.take(hold?.session, max, locks);
          alarm.set(inventory.nextDueAt());
          return taken;
        },
        wait() {
          if (!isOver) consumers.wait(consumer);
          changed();
        },
        end() {
          isOver = true;
          consumers.leave(consumer);
        },
      };
    },
    checkReceiver(wantsSession) {
      if (wantsSession === settings.requiresSession) return;
      throw notAllowed(
        wantsSession
          ? `A sessionful message receiver cannot be created on an entity that does not require sessions: ${path}.`
          : `It is not possible for an entity that requires sessions to create a non-sessionful message receiver: ${path}.`,
      );
    },
    changed,
  };
}
