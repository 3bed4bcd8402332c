/**
 * *Mapping.* `receive` is one Pull by the generated client, which has no lease manager, and one ModifyAckDeadline for what came,
 * before anything is handed out; the delivery token is the ack id. `extend` and an abandon are ModifyAckDeadline, with a call for
 * each deadline that occurs; a complete is Acknowledge; a dead-letter publishes a copy with the reason to the dead-letter topic
 * and acknowledges then. An ordering key is an ordering key, where the subscription keeps them.
 *
 * *Delivery.* At least once. A count is there only with a dead-letter policy (PS-40), first = 1; nacks and lapses count, so does
 * a delay. Leases are whole seconds, rounded up, and what the first extension took is not a part of `leaseMs`. When that
 * extension fails, nothing is handed out and the receive throws: what is left is the subscription's own deadline, which began at
 * an unknown moment of the wait and may be over; a task begun on it could be lost at once, and a broker that refuses one
 * extension seldom takes the next. The messages come again after that deadline. With exactly-once delivery this holds message
 * by message. A wait is the deadline of the call. An aborted one cancels the call: what the service leased in that instant comes
 * back at the subscription's deadline. A receive that does not wait, or for less than a second, sets `return_immediately`, which
 * is deprecated: a call with a short deadline would often end while its answer is under way, and strand all that is in it.
 *
 * *What is never confirmed.* Without exactly-once delivery a stale ack id is answered as a live one (PS-02), so settles and
 * extensions are `unconfirmed` when all went well. With it, each id has an outcome (PS-04): `confirmed`, `lost`, or `failed` with a
 * code that says that the call may be repeated; an id of which a partly failed call does not speak is `unconfirmed`. A call
 * without an answer is `unconfirmed` with its error.
 *
 * *Limits.* 1,000 messages a call, 10 MB a publish, 512 KiB of ack ids, ten minutes a lease, without limit in all; numbers with links
 * in capabilities.ts. Nothing counts the backlog; no message can be sent with a delay.
 */
import {
  type Clock,
  checkBatch,
  checkReceive,
  type ExtendItem,
  eachOrRefused,
  invalid,
  LeaseholdError,
  type Logger,
  type Outcome,
  type QueueDriver,
  refusedDelay,
  refusedLease,
  type SendOutcome,
  type SettleItem,
  settleByVerb,
  silentLogger,
  systemClock,
} from "@leasehold/core/driver";
import { acknowledgeBatch, changeBatch, publishBatch, type SubscriptionTarget } from "./batches.ts";
import { capabilitiesOf, secondsUp } from "./capabilities.ts";
import { refusedByPubsub, type Sending } from "./checks.ts";
import { connectClients, type PubsubConnection } from "./client.ts";
import { buryBatch, type DeadLetterItem, type DeadLetterRoute, deadLettersOf } from "./dead-letters.ts";
import { failed } from "./errors.ts";
import { entryOf } from "./messages.ts";
import { nameOf } from "./names.ts";
import { createReceiver } from "./receive.ts";

export interface PubsubQueueOptions extends PubsubConnection {
  /** Id of the project, `my-project`. */
  readonly project: string;
  /** Where messages are sent to; a full name for one of another project. */
  readonly topic: string;
  /** Where they are received from. Its short name is the queue's name. */
  readonly subscription: string;
  /** `enableExactlyOnceDelivery` of the subscription. Default false. */
  readonly exactlyOnce?: boolean;
  /** `enableMessageOrdering` of the subscription. Default false. */
  readonly ordering?: boolean;
  /** Where dead letters are copied to. Default: nowhere, the task record is the dead letter. */
  readonly deadLetterTopic?: string;
  /** A pull subscription of that topic, where dead letters are looked at. Default: they cannot be looked at. */
  readonly deadLetterSubscription?: string;
  /** `enableExactlyOnceDelivery` of that subscription. Default false. */
  readonly deadLetterExactlyOnce?: boolean;
  /** By which the first extension is measured. Default: the machine's. */
  readonly clock?: Clock;
  /** Hears of messages that were received and could not be leased. Default: nobody does. */
  readonly logger?: Logger;
}

/**
 * A driver of a subscription that is as the options say; nothing is asked, no call is made. `openPubsubQueue` asks the subscription
 * itself. Throws `InvalidArgument` for options that cannot be.
 */
export function createPubsubQueue(options: PubsubQueueOptions): QueueDriver {
  const { project, clock = systemClock, logger = silentLogger, ordering = false, exactlyOnce = false } = options;
  const topic = nameOf("topics", project, options.topic, "topic");
  const { id: queue, project: owner, full } = nameOf("subscriptions", project, options.subscription, "subscription");
  const deadTopic = options.deadLetterTopic && nameOf("topics", project, options.deadLetterTopic, "deadLetterTopic");
  const letterBox =
    options.deadLetterSubscription &&
    nameOf("subscriptions", project, options.deadLetterSubscription, "deadLetterSubscription");
  if (deadTopic && deadTopic.full === topic.full) {
    throw invalid("deadLetterTopic", "another topic than that of the queue", options.deadLetterTopic ?? "");
  }
  const capabilities = capabilitiesOf({
    exactlyOnce,
    ordering,
    deadLetterTopic: deadTopic ? deadTopic.full : undefined,
  });
  const { poll, control, publisher, release } = connectClients(options);
  const main: SubscriptionTarget = { control, subscription: full, exactlyOnce };
  const mainTopic = { publisher, topic: topic.full };
  const source = { project: owner, subscription: queue };
  const route: DeadLetterRoute | undefined = deadTopic
    ? { main, dead: { publisher, topic: deadTopic.full }, source, capabilities }
    : undefined;
  const letters: SubscriptionTarget | undefined =
    route && letterBox
      ? { control, subscription: letterBox.full, exactlyOnce: options.deadLetterExactlyOnce ?? false }
      : undefined;
  const closing = new AbortController();
  const take = createReceiver({ poll, queue, ordering, clock, logger, closing: closing.signal, insistOpen });

  function insistOpen(): void {
    if (closing.signal.aborted)
      throw new LeaseholdError("Unavailable", `Pub/Sub queue ${queue}: its driver was closed`);
  }

  function abandonAll(items: readonly AbandonItem[]): Promise<readonly Outcome[]> {
    return eachOrRefused(
      items,
      ({ delivery, delayMs }) => refusal(refusedToken(delivery.token) ?? refusedDelay(delayMs, capabilities)),
      (held) =>
        changeBatch(
          main,
          held.map(({ delivery, delayMs }) => ({ token: delivery.token, seconds: secondsUp(delayMs) })),
        ),
    );
  }

  function completeAll(items: readonly Pick<SettleItem, "delivery">[]): Promise<readonly Outcome[]> {
    return eachOrRefused(
      items,
      ({ delivery }) => refusal(refusedToken(delivery.token)),
      (held) =>
        acknowledgeBatch(
          main,
          held.map(({ delivery }) => delivery.token),
        ),
    );
  }

  function deadLetterAll(items: readonly DeadLetterItem[]): Promise<readonly Outcome[]> {
    if (route === undefined) return completeAll(items);
    return eachOrRefused(
      items,
      ({ delivery }) => refusal(refusedToken(delivery.token)),
      (held) => buryBatch(route, held),
    );
  }

  return {
    provider: "pubsub",
    queue,
    capabilities,
    async send(messages, { signal } = {}) {
      insistOpen();
      checkBatch(messages, capabilities);
      return eachOrRefused<Sending, SendOutcome>(
        messages.map((message) => ({ message, entry: entryOf(message) })),
        (sending) => refusal(refusedByPubsub(sending, capabilities)),
        (sound) =>
          publishBatch(
            { ...mainTopic, signal },
            sound.map(({ entry }) => entry),
          ),
      );
    },
    async receive(request) {
      insistOpen();
      checkReceive(request, capabilities);
      return request.signal?.aborted === true ? [] : take(main, request);
    },
    async extend(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return eachOrRefused<ExtendItem, Outcome>(
        items,
        ({ delivery, leaseMs }) => refusal(refusedToken(delivery.token) ?? refusedLease(leaseMs, capabilities)),
        (held) =>
          changeBatch(
            main,
            held.map(({ delivery, leaseMs }) => ({ token: delivery.token, seconds: secondsUp(leaseMs) })),
          ),
      );
    },
    async settle(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return settleByVerb(items, { complete: completeAll, abandon: abandonAll, "dead-letter": deadLetterAll });
    },
    ...(letters !== undefined && {
      deadLetters: deadLettersOf({ letters, main: mainTopic, source, capabilities }, insistOpen, (look) =>
        take(letters, { ...look, waitMs: LOOK_MS }),
      ),
    }),
    async close() {
      if (closing.signal.aborted) return;
      closing.abort();
      await release();
    },
  };
}

type AbandonItem = Extract<SettleItem, { readonly verb: "abandon" }>;
/** A look waits, since what is not waited for may be empty although there are letters. */
const LOOK_MS = 1_000;

/** Pub/Sub refuses a whole call for an empty id. */
function refusedToken(token: string): LeaseholdError | undefined {
  return token === "" ? invalid("token", "the ack id of a delivery", token) : undefined;
}

function refusal(error: LeaseholdError | undefined): Extract<Outcome, { readonly status: "failed" }> | undefined {
  return error === undefined ? undefined : failed(error);
}
