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
import type { protos } from "@google-cloud/pubsub";
import {
  type Clock,
  checkBatch,
  checkReceive,
  type ExtendItem,
  invalid,
  LeaseholdError,
  type Logger,
  type Outcome,
  type QueueDriver,
  type ReceiveOptions,
  refusedDelay,
  refusedLease,
  type SendOutcome,
  type SettleItem,
  silentLogger,
  systemClock,
} from "@leasehold/core/driver";
import { acknowledgeBatch, changeBatch, eachOrRefused, publishBatch, type SubscriptionTarget } from "./batches.ts";
import { capabilitiesOf, secondsUp } from "./capabilities.ts";
import { refusedByPubsub, type Sending } from "./checks.ts";
import { CONTROL_TIMEOUT_MS, callOptions, connectClients, type PubsubConnection, ready } from "./client.ts";
import { buryBatch, type DeadLetterItem, type DeadLetterRoute, deadLettersOf } from "./dead-letters.ts";
import { failed, fromPubsub } from "./errors.ts";
import { deliveryOf, entryOf, type PubsubDelivery } from "./messages.ts";
import { nameOf } from "./names.ts";

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

  function insistOpen(): void {
    if (closing.signal.aborted)
      throw new LeaseholdError("Unavailable", `Pub/Sub queue ${queue}: its driver was closed`);
  }

  async function take(from: SubscriptionTarget, request: ReceiveOptions): Promise<readonly PubsubDelivery[]> {
    const received = await pull(from.subscription, request);
    return received.length === 0 ? [] : lease(from, received, request.leaseMs);
  }

  async function pull(subscription: string, { max, waitMs, signal }: ReceiveOptions): Promise<readonly Received[]> {
    const waits = waitMs >= MIN_WAIT_MS;
    const ending = endingWith(closing.signal, signal);
    try {
      const client = await ready(poll);
      const timeoutMs = waits ? Math.min(waitMs, MAX_WAIT_MS) : CONTROL_TIMEOUT_MS;
      const [{ receivedMessages }] = await client.pull(
        { subscription, maxMessages: max, returnImmediately: !waits },
        callOptions(timeoutMs, ending.signal),
      );
      return receivedMessages ?? [];
    } catch (error) {
      if (signal?.aborted === true) return [];
      insistOpen();
      const failure = fromPubsub(error, `receiving from ${subscription}`, "pubsub.subscriptions.consume");
      // The service has waited as long as it was to, and there was nothing (PS-28).
      if (waits && failure.code === "DeadlineExceeded" && failure.details["sent"] !== false) return [];
      throw failure;
    } finally {
      ending.release();
    }
  }

  /** Sets the length that was asked for. What cannot be leased is not handed out, and comes again at the subscription's deadline. */
  async function lease(
    from: SubscriptionTarget,
    received: readonly Received[],
    leaseMs: number,
  ): Promise<readonly PubsubDelivery[]> {
    const seconds = secondsUp(leaseMs);
    const asked = clock.monotonic();
    const changes = received.map(({ ackId }) => ({ token: ackId ?? "", seconds }));
    const outcomes = await changeBatch(from, changes);
    const leftMs = Math.max(Math.floor(seconds * 1_000 - (clock.monotonic() - asked)), 0);
    const leased = received.filter((_, index) => isApplied(outcomes[index]));
    const error = outcomes.map((outcome) => ("error" in outcome ? outcome.error : undefined)).find((one) => one);
    if (leased.length === 0 && error !== undefined) throw error;
    if (leased.length < received.length) {
      logger.warn("messages were received and could not be leased. They are left to come again", {
        queue,
        received: received.length,
        leased: leased.length,
        error: error?.message,
      });
    }
    return leased.map((message) => deliveryOf(message, leftMs, ordering));
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
      const [completed, abandoned, buried] = await Promise.all([
        completeAll(items.filter((item) => item.verb === "complete")),
        abandonAll(items.filter((item) => item.verb === "abandon")),
        deadLetterAll(items.filter((item) => item.verb === "dead-letter")),
      ]);
      const outcomes = {
        complete: completed.values(),
        abandon: abandoned.values(),
        "dead-letter": buried.values(),
      } as const;
      return items.map((item) => outcomes[item.verb].next().value as Outcome);
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
type Received = protos.google.pubsub.v1.IReceivedMessage;

/** A call of less could end while its answer is under way. */
const MIN_WAIT_MS = 1_000;
/** Longer than any wait of core; a call that waits for days is one that nobody can tell from one that hangs. */
const MAX_WAIT_MS = 90_000;
/** A look waits, since what is not waited for may be empty although there are letters. */
const LOOK_MS = 1_000;

function isApplied(outcome: Outcome | undefined): boolean {
  return outcome?.status === "confirmed" || (outcome?.status === "unconfirmed" && outcome.error === undefined);
}

/** Pub/Sub refuses a whole call for an empty id. */
function refusedToken(token: string): LeaseholdError | undefined {
  return token === "" ? invalid("token", "the ack id of a delivery", token) : undefined;
}

function refusal(error: LeaseholdError | undefined): Extract<Outcome, { readonly status: "failed" }> | undefined {
  return error === undefined ? undefined : failed(error);
}

/** A signal that aborts with either of two, and lets go of them afterwards: theirs may live as long as the process. */
function endingWith(closing: AbortSignal, signal: AbortSignal | undefined): { signal: AbortSignal; release(): void } {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  for (const source of [closing, signal]) source?.addEventListener("abort", end, { once: true });
  return {
    signal: ending.signal,
    release() {
      for (const source of [closing, signal]) source?.removeEventListener("abort", end);
    },
  };
}
