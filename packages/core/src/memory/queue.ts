import type { Clock } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import { checkBatch, checkReceive, invalid, refusedDelay, refusedLease, refusedMessage } from "../queue/checks.ts";
import { copyAttributes } from "../queue/copies.ts";
import { deadLetterMarks, deadLetterOf, withoutMarks } from "../queue/dead-letter.ts";
import type {
  Capabilities,
  DeadLetters,
  Delivery,
  ExtendItem,
  Outcome,
  OutgoingMessage,
  QueueDriver,
  SendOutcome,
  SettleItem,
} from "../queue/driver.ts";
import { createMemoryBroker, type MemoryBroker, memoryBroker, type QueuePair } from "./broker.ts";
import type { BrokerQueue, Verdict } from "./broker-queue.ts";
import { copyOf } from "./message.ts";
import { type QueueSettings, queueSettings } from "./settings.ts";

export interface MemoryQueueOptions {
  /** The queue's name. */
  readonly name: string;
  /** The broker that has the queue. Default: the one behind `memory://<name>`, or a private one when `clock` or `settings` are given. */
  readonly broker?: MemoryBroker;
  /** The clock of the private broker. */
  readonly clock?: Clock;
  /** How the queue of the private broker is set up. */
  readonly settings?: Partial<QueueSettings>;
  /** What the broker asks for, where it does. */
  readonly accessKey?: string;
}

/** The reference driver, over a broker in this process. It keeps the contract to the letter; the lies are the broker's. */
export function createMemoryQueue(options: MemoryQueueOptions): QueueDriver {
  const { name } = options;
  const broker = options.broker ?? defaultBroker(options);
  const settings = broker.settings(name) ?? queueSettings();
  const closing = new AbortController();

  function connect(): QueuePair {
    if (closing.signal.aborted)
      throw new LeaseholdError("Unavailable", `memory queue ${JSON.stringify(name)}: it was closed`);
    return broker.connect(name, options.accessKey);
  }

  return {
    provider: "memory",
    queue: name,
    capabilities: capabilitiesOf(settings),
    async send(messages) {
      checkBatch(messages, settings);
      const { main } = connect();
      const refusals = messages.map((message) => refusedMessage(message, settings));
      const ids = main.send(messages.filter((_, index) => refusals[index] === undefined).map(entryOf));
      let accepted = 0;
      return refusals.map((error): SendOutcome => {
        if (error !== undefined) return { status: "failed", code: error.code, error };
        return { status: "confirmed", messageId: ids[accepted++] as string };
      });
    },
    async receive({ signal, ...request }) {
      const { main } = connect();
      checkReceive(request, settings);
      if (signal?.aborted === true) return [];
      const taken = main.take(request);
      if (taken !== "full" && (taken.length > 0 || request.waitMs === 0)) return taken;
      if (request.waitMs > 0) {
        return main.wait({ ...request, signals: signal === undefined ? [closing.signal] : [closing.signal, signal] });
      }
      throw new LeaseholdError(
        "ResourceExhausted",
        `memory queue ${JSON.stringify(name)}: too many messages are leased`,
      );
    },
    async extend(items) {
      checkBatch(items, settings);
      const { main } = connect();
      return items.map((item) => extendOne(main, item, settings));
    },
    async settle(items) {
      checkBatch(items, settings);
      const pair = connect();
      return items.map((item) => settleOne(pair, item, settings));
    },
    async countVisible() {
      return connect().main.counts().visible;
    },
    ...(settings.deadLetter !== "store" && { deadLetters: deadLettersOf(connect, settings) }),
    async close() {
      closing.abort();
    },
  };
}

function defaultBroker({ name, clock, settings }: MemoryQueueOptions): MemoryBroker {
  if (clock === undefined && settings === undefined) return memoryBroker(name);
  const broker = createMemoryBroker(clock === undefined ? {} : { clock });
  broker.createQueue(name, settings);
  return broker;
}

function extendOne(main: BrokerQueue, { delivery, leaseMs }: ExtendItem, settings: QueueSettings): Outcome {
  const refused = settings.fixedLeaseMs === undefined ? refusedLease(leaseMs, settings) : undefined;
  if (refused !== undefined) return { status: "failed", code: refused.code, error: refused };
  return outcomeOf(main.extend(delivery.token, leaseMs), settings);
}

function settleOne(pair: QueuePair, item: SettleItem, settings: QueueSettings): Outcome {
  const { token } = item.delivery;
  switch (item.verb) {
    case "complete":
      return outcomeOf(pair.main.complete(token), settings);
    case "abandon":
      return abandon(pair, item.delivery, item.delayMs, item.copyId, settings);
    case "dead-letter":
      return outcomeOf(
        deadLetter(
          pair,
          item.delivery,
          deadLetterMarks(item.reason, item.fence, settings.deadLetterReasonBytes),
          item.copyId,
          settings,
        ),
        settings,
      );
  }
}

function abandon(
  { main }: QueuePair,
  delivery: Delivery,
  delayMs: number,
  copyId: string,
  settings: QueueSettings,
): Outcome {
  const error = refusedDelay(delayMs, settings);
  if (error !== undefined) return { status: "failed", code: error.code, error };
  const byCopy = settings.abandonDelay === "copy" && delayMs > 0 && delivery.orderingKey === undefined;
  if (!byCopy) return outcomeOf(main.abandon(delivery.token, delayMs), settings);
  return outcomeOf(
    replaceByCopy(main, delivery, () =>
      main.send([{ content: copyOf(delivery, copyId, copyAttributes(delivery)), delayMs }]),
    ),
    settings,
  );
}

function deadLetter(
  { main, dead }: QueuePair,
  delivery: Delivery,
  marks: Readonly<Record<string, string>>,
  copyId: string,
  settings: QueueSettings,
): Verdict {
  if (settings.deadLetter === "native") return main.deadLetter(delivery.token, marks);
  return replaceByCopy(main, delivery, () =>
    dead?.send([{ content: copyOf(delivery, copyId, { ...delivery.attributes, ...marks }), delayMs: 0 }]),
  );
}

/** Nothing can come between the two steps here, so the token is judged first: one that is none leaves no copy. */
function replaceByCopy(main: BrokerQueue, delivery: Delivery, sendCopy: () => void): Verdict {
  const verdict = main.complete(delivery.token);
  if (verdict !== "malformed") sendCopy();
  return verdict;
}

function deadLettersOf(connect: () => QueuePair, settings: QueueSettings): DeadLetters {
  function deadQueue(): { readonly main: BrokerQueue; readonly dead: BrokerQueue } {
    const { main, dead } = connect();
    if (dead === undefined) throw new LeaseholdError("NotFound", "memory queue: it has no dead-letter queue");
    return { main, dead };
  }
  return {
    async look({ max, leaseMs }) {
      checkReceive({ max, leaseMs, waitMs: 0 }, settings);
      const taken = deadQueue().dead.take({ max, leaseMs });
      return taken === "full" ? [] : taken.map(deadLetterOf);
    },
    async redrive(items) {
      const { main, dead } = deadQueue();
      return items.map(({ delivery }) => {
        const verdict = dead.complete(delivery.token);
        // A new id: the old one would be swallowed by duplicate detection (SB-34).
        if (verdict === "applied")
          main.send([{ content: copyOf(delivery, delivery.messageId, withoutMarks(delivery.attributes)), delayMs: 0 }]);
        return outcomeOf(verdict, settings);
      });
    },
    async purge(items) {
      const { dead } = deadQueue();
      return items.map(({ delivery }) => outcomeOf(dead.complete(delivery.token), settings));
    },
  };
}

function outcomeOf(verdict: Verdict, settings: QueueSettings): Outcome {
  if (verdict === "applied") return { status: settings.settleConfirmation };
  if (verdict === "lost") return { status: "lost" };
  const error = invalid("token", "a token that this queue gave out", "another text");
  return { status: "failed", code: error.code, error };
}

function entryOf(message: OutgoingMessage): Parameters<BrokerQueue["send"]>[0][number] {
  const { id, body, contentType, attributes = {}, delayMs = 0, orderingKey } = message;
  return { content: { id, body, contentType, attributes, ...(orderingKey !== undefined && { orderingKey }) }, delayMs };
}

function capabilitiesOf(settings: QueueSettings): Capabilities {
  const { fixedLeaseMs, totalLeaseMs, maxLeaseMs, maxBatch, maxSendDelayMs, maxAbandonDelayMs } = settings;
  const { settleConfirmation, deadLetter, deadLetterReasonBytes, maxMessageBytes, ordering } = settings;
  return {
    maxLeaseMs,
    ...(fixedLeaseMs !== undefined && { fixedLeaseMs }),
    ...(totalLeaseMs !== undefined && { totalLeaseMs }),
    settleConfirmation,
    maxBatch,
    maxSendDelayMs,
    maxAbandonDelayMs,
    deadLetter,
    deadLetterReasonBytes,
    maxMessageBytes,
    ordering,
    settle: "call",
    sources: {},
  };
}
