import { createAlarm } from "../../alarm.ts";
import type { BrokerActs } from "../../broker-acts.ts";
import type { EmulatorClock } from "../../clock.ts";
import { invalid, PubsubError } from "../errors.ts";
import { createAckIds } from "./ack-ids.ts";
import { createActs } from "./acts.ts";
import type { Entry, HandOver } from "./entry.ts";
import type { StoredMessage } from "./message.ts";
import { createReceivers, type StreamRequest } from "./receivers.ts";
import { backoffMsOf, checkDeadline, maxAttemptsOf, retentionMsOf, type SubscriptionConfig } from "./settings.ts";
import { createShelf } from "./shelf.ts";

export interface Subscription {
  config(): SubscriptionConfig;
  configure(config: SubscriptionConfig): void;
  /** Whoever waits hears of them together. */
  add(messages: readonly StoredMessage[]): void;
  pull(max: number, onGone: (listener: () => void) => void): Promise<readonly HandOver[]>;
  pullNow(max: number): readonly HandOver[];
  open(stream: StreamRequest): () => void;
  acknowledge(ackIds: readonly string[]): void;
  /** 0 gives back. */
  modifyAckDeadline(ackIds: readonly string[], seconds: number): void;
  acts(): BrokerActs;
  /** Fails whoever waits or listens. */
  close(error: PubsubError): void;
}

export interface SubscriptionContext {
  readonly clock: EmulatorClock;
  readonly staleAck: "applied" | "ignored";
  /** Publishes a copy of a message that was delivered too often; false: there is nowhere to. */
  readonly forward: (message: StoredMessage, config: SubscriptionConfig, attempts: number) => boolean;
}

const INVALID_ACK_ID = "PERMANENT_FAILURE_INVALID_ACK_ID";
const SOME_INVALID =
  "Some acknowledgement ids in the request were invalid. This could be because the acknowledgement ids have expired or the acknowledgement ids were malformed.";

export function createSubscription(initial: SubscriptionConfig, context: SubscriptionContext): Subscription {
  const { clock, staleAck, forward } = context;
  let config = initial;
  let isClosed = false;
  const ackIds = createAckIds();
  const shelf = createShelf(clock, {
    isOrdered: () => config.enableMessageOrdering === true,
    retentionMs: () => retentionMsOf(config),
    afterReturn: (entry) => ({ delayMs: backoffMsOf(config, entry.attempts), isSpent: bury(entry) }),
  });
  const receivers = createReceivers(shelf, () => (config.ackDeadlineSeconds ?? 0) * 1_000, handOver);
  const alarm = createAlarm(clock, serve);

  function bury(entry: Entry): boolean {
    const maxAttempts = maxAttemptsOf(config);
    return maxAttempts !== undefined && entry.attempts >= maxAttempts && forward(entry.message, config, entry.attempts);
  }

  /** Whatever its count: as the broker would once it is reached. */
  function buryNow(entry: Entry): boolean {
    const maxAttempts = maxAttemptsOf(config);
    return maxAttempts !== undefined && forward(entry.message, config, maxAttempts);
  }

  /** What time and others did takes effect, and whoever waits gets what there is. */
  function serve(): void {
    // What was under way may be applied still; nobody hears of it, and no timer is left behind.
    if (isClosed) return;
    shelf.settleTime();
    receivers.serve();
    alarm.set(shelf.nextAt());
  }

  function handOver(entry: Entry): HandOver {
    const deliveryAttempt = maxAttemptsOf(config) === undefined ? 0 : entry.attempts + 1;
    return { ackId: ackIds.of(entry), message: entry.message, deliveryAttempt };
  }

  /** Applies a change to what the ids name. Exactly-once: an id that names no lease is an error of its own (PS-04). */
  function change(ids: readonly string[], apply: (entry: Entry) => boolean): void {
    if (ids.length === 0) throw invalid("No ack ids specified.");
    shelf.settleTime();
    const isExact = config.enableExactlyOnceDelivery === true;
    // An id that is named twice counts once, as with Google's emulator.
    const targets = [...new Map(ids.map((ackId) => [ackId, targetOf(ackId)]))];
    // Newest first: one that is given back takes the leases of the later ones of its key with it, those named here included.
    targets.sort(([, one], [, other]) => (other?.number ?? 0) - (one?.number ?? 0));
    const failures: Record<string, string> = {};
    for (const [ackId, entry] of targets) {
      const applied = entry !== undefined && (!isExact || entry.state === "leased") && apply(entry);
      if (!applied) failures[ackId] = INVALID_ACK_ID;
    }
    serve();
    if (isExact && Object.keys(failures).length > 0) throw new PubsubError("INVALID_ARGUMENT", SOME_INVALID, failures);
  }

  /** The message, if this is its latest id. Throws for text that is no id, as Google's emulator does for a whole request. */
  function targetOf(ackId: string): Entry | undefined {
    const { number, delivery } = ackIds.read(ackId);
    const entry = shelf.get(number);
    return entry?.deliveries === delivery ? entry : undefined;
  }

  return {
    config: () => config,
    configure(changed) {
      config = changed;
      serve();
    },
    add(messages) {
      for (const message of messages) shelf.add(message);
      serve();
    },
    pull(max, onGone) {
      const waiting = receivers.pull(max, onGone);
      serve();
      return waiting;
    },
    pullNow(max) {
      shelf.settleTime();
      const handOvers = receivers.pullNow(max);
      serve();
      return handOvers;
    },
    open(stream) {
      const close = receivers.open(stream);
      serve();
      return close;
    },
    acknowledge(ids) {
      change(ids, (entry) => {
        if (entry.state !== "leased" && (staleAck === "ignored" || !entry.ackable)) return false;
        shelf.remove(entry);
        return true;
      });
    },
    modifyAckDeadline(ids, seconds) {
      checkDeadline(seconds);
      change(ids, (entry) => {
        // Without exactly-once an id whose lease is over is answered as one that holds (PS-02).
        if (entry.state !== "leased") return false;
        if (seconds === 0) shelf.giveBack(entry, false);
        else shelf.extend(entry, seconds * 1_000);
        return true;
      });
    },
    acts: () => createActs({ shelf, serve, config: () => config, bury: buryNow }),
    close(error) {
      isClosed = true;
      alarm.cancel();
      receivers.fail(error);
    },
  };
}
