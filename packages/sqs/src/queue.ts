/**
 * *Mapping.* `receive` is ReceiveMessage as a long poll that always names the lease length; the delivery token is the receipt
 * handle. `extend` and an abandon are ChangeMessageVisibilityBatch, a complete is DeleteMessageBatch, a dead-letter sends
 * a copy with the reason to the dead-letter queue and deletes the message then. An ordering key is a message group of a
 * FIFO queue; there the message's id is its deduplication id, and a message without a key is a group of its own. A group
 * id on a standard queue is a tenant of a fair queue: no order, no lock (SQS-80).
 *
 * *Delivery.* At least once. The count is SQS's own, first = 1; it also grows by receives whose answer was lost (SQS-51).
 * Leases are whole seconds, rounded up; waits whole seconds, rounded down. An aborted receive may leave messages leased
 * that nobody holds; they come back when that lease ends (SQS-73). A message whose MD5 is wrong is not handed out, and
 * comes back likewise; the others of its batch are handed out (SQS-30).
 *
 * *What is never confirmed.* A standard queue answers a stale handle as it answers a live one (SQS-06 to SQS-09), so there
 * settles and extensions are `unconfirmed` when all went well. A FIFO queue says `lost`. A call without an answer, or
 * answered with a fault of the server, is `unconfirmed` with its error.
 *
 * *Limits.* Ten entries a call, 1 MiB a batch, 12 h from receive; numbers with links in capabilities.ts. Too many messages in
 * flight is `ResourceExhausted` from a receive that does not wait, on a standard queue; a long poll, and a FIFO queue,
 * answer it as if the queue were empty (SQS-70): compare `countVisible`.
 */
import { GetQueueAttributesCommand, type Message, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import {
  type Clock,
  checkBatch,
  checkReceive,
  type ExtendItem,
  eachOrRefused,
  endingWith,
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
  settleByVerb,
  silentLogger,
  systemClock,
} from "@leasehold/core/driver";
import { type BatchTarget, changeBatch, deleteBatch, sendBatch } from "./batches.ts";
import { capabilitiesOf, isFifoName, MAX_MESSAGE_BYTES, MAX_WAIT_MS, secondsDown, secondsUp } from "./capabilities.ts";
import { refusedBySqs } from "./checks.ts";
import { connectClients, type SqsConnection } from "./client.ts";
import { buryBatch, type DeadLetterItem, type DeadLetterRoute, deadLettersOf } from "./dead-letters.ts";
import { fromSqs } from "./errors.ts";
import { deliveryOf, entryOf, isIntact, type SqsDelivery, SYSTEM_ATTRIBUTES } from "./messages.ts";

export interface SqsQueueOptions extends SqsConnection {
  /** `https://sqs.eu-west-1.amazonaws.com/123456789012/orders`. */
  readonly queueUrl: string;
  /** Default: what the name says; FIFO queues end in `.fifo`. */
  readonly fifo?: boolean;
  /** The queue's `MaximumMessageSize`, bytes. Default 1 MiB; queues made before August 2025 may have 256 KiB (SQS-43). */
  readonly maxMessageBytes?: number;
  /** Where dead letters are copied to. Default: nowhere, the task record is the dead letter. */
  readonly deadLetterUrl?: string;
  /** By which the twelve hours of a message are counted. Default: the machine's. */
  readonly clock?: Clock;
  /** Hears of messages that came damaged. Default: nobody does. */
  readonly logger?: Logger;
}

/**
 * A driver of a queue that is as the options say; nothing is asked, no call is made. `openSqsQueue` asks the queue itself.
 * Throws `InvalidArgument` for options that cannot be.
 */
export function createSqsQueue(options: SqsQueueOptions): QueueDriver {
  const { queueUrl, deadLetterUrl, clock = systemClock, logger = silentLogger } = options;
  const queue = queueNameOf(queueUrl, "queueUrl");
  if (deadLetterUrl !== undefined) queueNameOf(deadLetterUrl, "deadLetterUrl");
  const { fifo = isFifoName(queue), maxMessageBytes = MAX_MESSAGE_BYTES } = options;
  const capabilities = capabilitiesOf({ fifo, maxMessageBytes, deadLetterUrl });
  const applied = { status: capabilities.settleConfirmation } as const;
  const { poll, control, release } = connectClients(options, queueUrl);
  const main: BatchTarget = { control, queueUrl };
  const route: DeadLetterRoute | undefined =
    deadLetterUrl === undefined ? undefined : { main, dead: { control, queueUrl: deadLetterUrl }, queue, capabilities };
  const closing = new AbortController();

  function insistOpen(): void {
    if (closing.signal.aborted) throw new LeaseholdError("Unavailable", `SQS queue ${queue}: its driver was closed`);
  }

  async function take(from: string, { max, waitMs, leaseMs, signal }: ReceiveOptions): Promise<readonly SqsDelivery[]> {
    const leaseSeconds = secondsUp(leaseMs);
    const command = new ReceiveMessageCommand({
      QueueUrl: from,
      MaxNumberOfMessages: max,
      WaitTimeSeconds: secondsDown(Math.min(waitMs, MAX_WAIT_MS)),
      VisibilityTimeout: leaseSeconds,
      MessageSystemAttributeNames: [...SYSTEM_ATTRIBUTES],
      MessageAttributeNames: ["All"],
    });
    const ending = endingWith(closing.signal, signal);
    try {
      const { Messages = [] } = await poll.send(command, { abortSignal: ending.signal });
      const received = { wall: clock.now(), monotonic: clock.monotonic() };
      return Messages.filter(isSound).map((message) => deliveryOf(message, leaseSeconds * 1_000, fifo, received));
    } catch (error) {
      if (signal?.aborted === true) return [];
      insistOpen();
      throw fromSqs(error, `receiving from ${from}`);
    } finally {
      ending.release();
    }
  }

  function isSound(message: Message): boolean {
    if (isIntact(message)) return true;
    logger.warn("a message came damaged: its MD5 is wrong. It is left to come again", {
      queue,
      messageId: message.MessageId ?? "",
    });
    return false;
  }

  /** Seconds that a hold may still last; SQS refuses what reaches beyond, and clamps nothing (SQS-05). */
  function secondsLeft({ received }: SqsDelivery): number {
    if (received === undefined) return Number.POSITIVE_INFINITY;
    const heldMs = Math.max(clock.now() - received.wall, clock.monotonic() - received.monotonic);
    return Math.max(secondsDown((capabilities.totalLeaseMs ?? 0) - heldMs), 0);
  }

  function abandonAll(items: readonly AbandonItem[]): Promise<readonly Outcome[]> {
    return eachOrRefused(
      items,
      ({ delivery, delayMs }) => failed(refusedToken(delivery.token) ?? refusedDelay(delayMs, capabilities)),
      (held) =>
        changeBatch(
          main,
          held.map(({ delivery, delayMs }) => ({
            token: delivery.token,
            seconds: Math.min(secondsUp(delayMs), secondsLeft(delivery)),
          })),
          applied,
        ),
    );
  }

  function completeAll(items: readonly Pick<SettleItem, "delivery">[]): Promise<readonly Outcome[]> {
    return eachOrRefused(
      items,
      ({ delivery }) => failed(refusedToken(delivery.token)),
      (held) =>
        deleteBatch(
          main,
          held.map(({ delivery }) => delivery.token),
          applied,
        ),
    );
  }

  function deadLetterAll(items: readonly DeadLetterItem[]): Promise<readonly Outcome[]> {
    if (route === undefined) return completeAll(items);
    return eachOrRefused(
      items,
      ({ delivery }) => failed(refusedToken(delivery.token)),
      (held) => buryBatch(route, held),
    );
  }

  return {
    provider: "sqs",
    queue,
    capabilities,
    async send(messages, { signal } = {}) {
      insistOpen();
      checkBatch(messages, capabilities);
      return eachOrRefused<(typeof messages)[number], SendOutcome>(
        messages,
        (message) => failed(refusedBySqs(message, capabilities)),
        (sound) =>
          sendBatch(
            { ...main, signal },
            sound.map((message) => entryOf(message, fifo)),
          ),
      );
    },
    async receive(request) {
      insistOpen();
      checkReceive(request, capabilities);
      return request.signal?.aborted === true ? [] : take(queueUrl, request);
    },
    async extend(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return eachOrRefused(
        items,
        (item) => failed(refusedToken(item.delivery.token) ?? refusedExtension(item)),
        (held) =>
          changeBatch(
            main,
            held.map(({ delivery, leaseMs }) => ({
              token: delivery.token,
              seconds: Math.min(secondsUp(leaseMs), secondsLeft(delivery)),
            })),
            applied,
          ),
      );

      function refusedExtension({ delivery, leaseMs }: ExtendItem): LeaseholdError | undefined {
        const refused = refusedLease(leaseMs, capabilities);
        // 0 seconds would hand the message to the next one.
        if (refused !== undefined || secondsLeft(delivery) >= 1) return refused;
        return invalid("delivery", "one received less than 12 h ago", "one that cannot be held any longer");
      }
    },
    async settle(items) {
      insistOpen();
      checkBatch(items, capabilities);
      return settleByVerb(items, { complete: completeAll, abandon: abandonAll, "dead-letter": deadLetterAll });
    },
    async countVisible() {
      insistOpen();
      const command = new GetQueueAttributesCommand({
        QueueUrl: queueUrl,
        AttributeNames: ["ApproximateNumberOfMessages"],
      });
      try {
        const { Attributes } = await control.send(command);
        return Number(Attributes?.ApproximateNumberOfMessages ?? 0);
      } catch (error) {
        throw fromSqs(error, `counting the messages of ${queue}`);
      }
    },
    ...(route !== undefined && {
      deadLetters: deadLettersOf(route, insistOpen, (look) => take(route.dead.queueUrl, { ...look, waitMs: LOOK_MS })),
    }),
    async close() {
      closing.abort();
      release();
    },
  };
}

type AbandonItem = Extract<SettleItem, { readonly verb: "abandon" }>;

/** A look asks all of SQS's servers, as only a long poll does; a short one may miss the few letters that there are (SQS-42). */
const LOOK_MS = 1_000;
const URL_OF_QUEUE = /^https?:\/\/[^/]+\/(?:[^/]+\/)*([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$/;

function queueNameOf(url: string, field: string): string {
  const name = URL_OF_QUEUE.exec(url)?.[1];
  if (name !== undefined) return name;
  throw invalid(field, "the URL of a queue, such as https://sqs.eu-west-1.amazonaws.com/123456789012/orders", url);
}

/** SQS refuses a whole batch for an empty handle. */
function refusedToken(token: string): LeaseholdError | undefined {
  return token === "" ? invalid("token", "the receipt handle of a delivery", token) : undefined;
}

function failed(error: LeaseholdError | undefined): Extract<Outcome, { readonly status: "failed" }> | undefined {
  return error === undefined ? undefined : { status: "failed", code: error.code, error };
}
