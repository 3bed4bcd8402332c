/**
 * *Mapping.* `receive` opens a stream of as many calls as it asks for and stops it again; in an entity with sessions it takes
 * the next session. The delivery token is the lock token. `extend` is renewMessageLock, or renewSessionLock; complete and
 * dead-letter are the service's own, on the link of the message, and by its lock token where the link is gone. An abandon
 * with a delay schedules a copy and completes the original then. An ordering key is a session; a message without one is a
 * session by itself, whose id is the message's. With a key a delay is no copy: the message is abandoned and the session kept
 * and renewed until the delay is over.
 *
 * *Delivery.* At least once. The count is the service's own plus one (SB-30), and goes on in copies. The length of a lock
 * belongs to the entity (SB-02): it is read off the first delivery. A lock may be lost early (SB-05); with that of a
 * session go all leases of the session, of which there is one at a time.
 *
 * *What is never confirmed.* Renewals and settles are answered, so `confirmed` means that they were applied. A call that ran
 * into a time-out or lost its connection is `unconfirmed` (SB-22). `lost` may also mean that an earlier try was applied,
 * whose answer was lost (SB-24).
 *
 * *Limits.* Each renewal and settle is a call of its own (SB-40), made side by side; numbers with links in capabilities.ts. A
 * receive whose link is lost while it takes back what it did not use throws `Unavailable`: a message may have been locked
 * on it, and comes again when that lock ends. Service Bus counts no messages over AMQP.
 */
import type { ServiceBusReceivedMessage } from "@azure/service-bus";
import {
  type Clock,
  checkBatch,
  checkReceive,
  eachOrRefused,
  endingWith,
  invalid,
  LeaseholdError,
  type Logger,
  type Outcome,
  type QueueDriver,
  refusedDelay,
  type SendOutcome,
  type SettleItem,
  silentLogger,
  systemClock,
} from "@leasehold/core/driver";
import { eachByKey, sendBatch } from "./batches.ts";
import { capabilitiesOf, createLockLength, DEFAULT_LOCK_MS, MAX_LOCK_MS, MAX_MESSAGE_BYTES } from "./capabilities.ts";
import { refusedByServicebus } from "./checks.ts";
import { closeInTime, connectClients, type ServicebusConnection } from "./client.ts";
import { buriedBy, deadLettersOf } from "./dead-letters.ts";
import { linksOf } from "./entity.ts";
import { createLossWatch } from "./losses.ts";
import { type Arrival, copyOf, deliveryOf, isToken, messageOf, type ServicebusDelivery } from "./messages.ts";
import { namesOf, type ServicebusEntity } from "./names.ts";
import { createRenewedSender } from "./sender.ts";
import type { HeldSession } from "./session.ts";
import { createSessionProbe } from "./session-probe.ts";
import { createSessions } from "./sessions.ts";
import { ABANDON, COMPLETE, createSettling, type Settle, type Settling } from "./settling.ts";
import { createStreams } from "./streams.ts";

export interface ServicebusQueueOptions extends ServicebusConnection, ServicebusEntity {
  /** Does the entity require sessions? Ordering keys need them. Default false. */
  readonly sessions?: boolean;
  /** The entity's lock duration, ms, up to five minutes. Default 60,000; the first delivery corrects it (SB-02). */
  readonly lockMs?: number;
  /** The largest message that the entity takes, bytes. Default 262,144 (SB-43). */
  readonly maxMessageBytes?: number;
  /** By which locks, waits and delays are counted. Default: the machine's. */
  readonly clock?: Clock;
  /** Hears of messages that could not be given back. Default: nobody does. */
  readonly logger?: Logger;
}

/**
 * A driver of an entity that is as the options say; nothing is asked, no call is made. `openServicebusQueue` asks the entity
 * itself. Throws `InvalidArgument` for options that cannot be.
 */
export function createServicebusQueue(options: ServicebusQueueOptions): QueueDriver {
  const { sessions: isSessioned = false, maxMessageBytes = MAX_MESSAGE_BYTES, lockMs = DEFAULT_LOCK_MS } = options;
  const { clock = systemClock, logger = silentLogger } = options;
  const names = namesOf(options);
  const { queue } = names;
  if (!(lockMs > 0 && lockMs <= MAX_LOCK_MS)) throw invalid("lockMs", `more than 0 and at most ${MAX_LOCK_MS}`, lockMs);
  if (!(maxMessageBytes >= MIN_MESSAGE_BYTES))
    throw invalid("maxMessageBytes", `${MIN_MESSAGE_BYTES} or more`, maxMessageBytes);
  const lock = createLockLength(lockMs);
  const capabilities = capabilitiesOf({ sessions: isSessioned, maxMessageBytes, lockMs: lock.current });
  const { poll, control, release } = connectClients(options);
  const polled = linksOf(poll, names);
  const controlled = linksOf(control, names);
  const polling = createLossWatch(poll);
  const controlling = createLossWatch(control);
  const sender = createRenewedSender(controlled.sender, controlling);
  const settlingOf = (of: "messages" | "dead letters"): Settling =>
    createSettling({ onLink: polled.receiver(of), polling, token: controlled.receiver(of), controlling });
  const settling = settlingOf("messages");
  const closing = new AbortController();
  const doing = `receiving from ${queue}`;

  function insistOpen(): void {
    if (closing.signal.aborted) throw new LeaseholdError("Unavailable", `Service Bus ${queue}: its driver was closed`);
  }

  const locked = (until: number): void => lock.seen(until - clock.now());

  function arrivalOf(message: ServiceBusReceivedMessage, session?: HeldSession): Arrival {
    const until = message.lockedUntilUtc?.getTime();
    const freshMs = until === undefined ? lock.current() : until - clock.now();
    if (session === undefined) lock.seen(freshMs);
    const arrived = { message, lockMs: session?.leftMs() ?? freshMs, monotonic: clock.monotonic() };
    return session === undefined ? arrived : { ...arrived, session };
  }

  function leftMs({ lockMs: lockedMs, monotonic }: Arrival): number {
    return Math.max(Math.min(lockedMs, lock.current()) - (clock.monotonic() - monotonic), 0);
  }

  async function giveBack(message: ServiceBusReceivedMessage): Promise<void> {
    const delivery = deliveryOf(arrivalOf(message), isSessioned, 0);
    const outcome = await settling.settle(delivery, ABANDON);
    if (outcome.status === "confirmed" || outcome.status === "lost" || closing.signal.aborted) return;
    logger.warn("a message that came after its receive could not be given back; it comes again when its lock ends", {
      queue,
      messageId: delivery.messageId,
      error: outcome.error?.message ?? "no answer",
    });
  }

  const streamParts = {
    clock,
    doing,
    watch: polling,
    arrivalOf: (message: ServiceBusReceivedMessage) => arrivalOf(message),
  };
  const streams = createStreams({
    ...streamParts,
    createReceiver: () => polled.receiver(),
    giveBack: (message) => void giveBack(message),
  });
  const letters = createStreams({
    ...streamParts,
    createReceiver: () => polled.receiver("dead letters"),
    // Looking costs nothing but the lock.
    giveBack: () => undefined,
  });
  const sessions = createSessions({
    clock,
    doing,
    acceptNext: (signal) =>
      polling.during(doing, async (lost) => {
        const ending = endingWith(signal, lost);
        try {
          return await polled.acceptNext(ending.signal);
        } finally {
          ending.release();
        }
      }),
    probe: createSessionProbe(polled.receiver(), polled.accept, (call) => polling.during(doing, call)),
    arrivalOf,
    locked,
    lockMs: lock.current,
  });
  const source = isSessioned ? sessions : streams;

  /** A session whose message is settled goes on with the next one; one whose lock is lost is dropped. */
  async function settle(delivery: ServicebusDelivery, how: Settle, holdMs = 0): Promise<Outcome> {
    const outcome = await settling.settle(delivery, how);
    const session = delivery.held?.().session;
    if (session === undefined || !(outcome.status === "confirmed" || outcome.status === "lost")) return outcome;
    if (holdMs > 0 && outcome.status === "confirmed") session.hold(holdMs);
    else session.settled(how.isEnd);
    return outcome;
  }

  async function abandon({ delivery, delayMs, copyId }: AbandonItem): Promise<Outcome> {
    const refused = refusedDelay(delayMs, capabilities);
    if (refused !== undefined) return failed(refused);
    const isKeyed = isSessioned && delivery.orderingKey !== undefined;
    if (delayMs === 0 || isKeyed || !isToken(delivery.token)) return settle(delivery, ABANDON, delayMs);
    const [copy] = await sendBatch(sender, [copyOf(delivery, copyId, isSessioned, dateOf(clock.now() + delayMs))]);
    return copy === undefined || copy.status === "confirmed" ? settle(delivery, COMPLETE) : copy;
  }

  async function bury({ delivery, reason, fence }: DeadLetterItem): Promise<Outcome> {
    const by = (text: string): Settle => buriedBy({ ...reason, text }, fence, capabilities.deadLetterReasonBytes);
    const outcome = await settle(delivery, by(reason.text));
    const isRefused =
      outcome.status === "failed" && (outcome.code === "InvalidArgument" || outcome.code === "PayloadTooLarge");
    return isRefused && isToken(delivery.token) ? settle(delivery, by("")) : outcome;
  }

  return {
    provider: "servicebus",
    queue,
    capabilities,
    async send(messages, { signal } = {}) {
      insistOpen();
      checkBatch(messages, capabilities);
      return eachOrRefused<(typeof messages)[number], SendOutcome>(
        messages,
        (message) => failedIf(refusedByServicebus(message, capabilities)),
        (sound) =>
          sendBatch(
            sender,
            sound.map((message) => messageOf(message, isSessioned, dueOf(message.delayMs ?? 0))),
            signal,
          ),
      );

      function dueOf(delayMs: number): Date | undefined {
        return delayMs === 0 ? undefined : dateOf(clock.now() + delayMs);
      }
    },
    async receive(request) {
      insistOpen();
      checkReceive(request, capabilities);
      if (hasEnded(request.signal)) return [];
      const ending = endingWith(closing.signal, request.signal);
      try {
        const arrivals = await source.receive({ ...request, signal: ending.signal });
        if (!hasEnded(request.signal)) insistOpen();
        return arrivals.map((arrival) => deliveryOf(arrival, isSessioned, leftMs(arrival)));
      } finally {
        ending.release();
      }
    },
    async extend(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return Promise.all(items.map(({ delivery }) => settling.renew(delivery, locked)));
    },
    async settle(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return eachByKey(
        items,
        ({ delivery }) => delivery.token,
        (item) => {
          if (item.verb === "complete") return settle(item.delivery, COMPLETE);
          return item.verb === "abandon" ? abandon(item) : bury(item);
        },
      );
    },
    deadLetters: deadLettersOf(
      {
        streams: letters,
        settling: settlingOf("dead letters"),
        sender,
        capabilities,
        signal: closing.signal,
        leftMs,
      },
      insistOpen,
    ),
    async close() {
      if (closing.signal.aborted) return;
      closing.abort();
      await closeInTime([sessions, streams, letters, sender]);
      await release();
    },
  };
}

/** No entity takes so little. */
const MIN_MESSAGE_BYTES = 16_384;

type AbandonItem = Extract<SettleItem, { readonly verb: "abandon" }>;
type DeadLetterItem = Extract<SettleItem, { readonly verb: "dead-letter" }>;

function failed(error: LeaseholdError): Extract<Outcome, { readonly status: "failed" }> {
  return { status: "failed", code: error.code, error };
}

function failedIf(error: LeaseholdError | undefined): Extract<Outcome, { readonly status: "failed" }> | undefined {
  return error === undefined ? undefined : failed(error);
}

function dateOf(ms: number): Date {
  // biome-ignore lint/plugin: the SDK takes a Date; its time is the clock's
  return new Date(ms);
}

function hasEnded(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
