import type { protos } from "@google-cloud/pubsub";
import { type Clock, endingWith, type Logger, type Outcome, type ReceiveOptions } from "@leasehold/core/driver";
import { changeBatch, type SubscriptionTarget } from "./batches.ts";
import { secondsUp } from "./capabilities.ts";
import { CONTROL_TIMEOUT_MS, callOptions, type PubsubClients, ready } from "./client.ts";
import { fromPubsub } from "./errors.ts";
import { deliveryOf, type PubsubDelivery } from "./messages.ts";

type Received = protos.google.pubsub.v1.IReceivedMessage;

export interface ReceiverOptions extends Pick<PubsubClients, "poll"> {
  readonly queue: string;
  readonly ordering: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends every wait. */
  readonly closing: AbortSignal;
  /** Throws once the driver is closed. */
  insistOpen(): void;
}

/** A call of less could end while its answer is under way. */
const MIN_WAIT_MS = 1_000;
/** Longer than any wait of core. The answer to a call that waits for days would tell nobody that it hangs. */
const MAX_WAIT_MS = 90_000;

/** Pulls from a subscription, and leases what came before anybody hears of it. */
export function createReceiver(
  options: ReceiverOptions,
): (from: SubscriptionTarget, request: ReceiveOptions) => Promise<readonly PubsubDelivery[]> {
  const { poll, queue, ordering, clock, logger, closing, insistOpen } = options;

  async function pull(subscription: string, { max, waitMs, signal }: ReceiveOptions): Promise<readonly Received[]> {
    const waits = waitMs >= MIN_WAIT_MS;
    const ending = endingWith(closing, signal);
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

  return async (from, request) => {
    const received = await pull(from.subscription, request);
    return received.length === 0 ? [] : lease(from, received, request.leaseMs);
  };
}

function isApplied(outcome: Outcome | undefined): boolean {
  return outcome?.status === "confirmed" || (outcome?.status === "unconfirmed" && outcome.error === undefined);
}
