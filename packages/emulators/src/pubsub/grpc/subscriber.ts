import type { UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Broker } from "../broker/broker.ts";
import type { HandOver } from "../broker/entry.ts";
import { durationOf, type SubscriptionConfig } from "../broker/settings.ts";
import type { Subscription } from "../broker/subscription.ts";
import { invalid } from "../errors.ts";
import type { Gate } from "./gate.ts";
import { masked } from "./mask.ts";
import { type PageRequest, pageOf } from "./pages.ts";
import { streamingPull } from "./streaming-pull.ts";
import { type Caller, unary } from "./unary.ts";
import { unsupported } from "./unsupported.ts";

interface PullRequest {
  readonly subscription: string;
  readonly returnImmediately: boolean;
  readonly maxMessages: number;
}
interface AckRequest {
  readonly subscription: string;
  readonly ackIds: string[];
}

/** A pull that finds nothing ends this long before its caller stops waiting, or after half of the time, if that is later. */
const PULL_MARGIN_MS = 1_000;
/** A caller without a deadline waits this long at most. */
const MAX_PULL_MS = 90_000;
/** What cannot be changed of a subscription. */
const FIXED = ["name", "topic", "enableMessageOrdering", "filter"];

/** The service `google.pubsub.v1.Subscriber`. */
export function subscriberService(broker: Broker, gate: Gate): UntypedServiceImplementation {
  return {
    CreateSubscription: unary<SubscriptionConfig>(gate, "CreateSubscription", (config) =>
      broker.createSubscription(config),
    ),
    GetSubscription: unary<{ subscription: string }>(gate, "GetSubscription", ({ subscription }) =>
      broker.subscription(subscription).config(),
    ),
    UpdateSubscription: unary<{ subscription: SubscriptionConfig; updateMask: { paths: string[] } | null }>(
      gate,
      "UpdateSubscription",
      ({ subscription, updateMask }) => {
        const config = broker.subscription(subscription.name).config();
        return broker.updateSubscription(masked(config, subscription, updateMask?.paths, FIXED));
      },
    ),
    ListSubscriptions: unary<PageRequest & { project: string }>(gate, "ListSubscriptions", (request) => {
      const { items: subscriptions, nextPageToken } = pageOf(
        broker.subscriptions(request.project),
        ({ name }) => name,
        request,
      );
      return { subscriptions, nextPageToken };
    }),
    DeleteSubscription: unary<{ subscription: string }>(gate, "DeleteSubscription", ({ subscription }) => {
      broker.deleteSubscription(subscription);
      return {};
    }),
    Pull: unary<PullRequest>(gate, "Pull", async (request, caller) => ({
      receivedMessages: (await pull(broker.subscription(request.subscription), request, caller)).map(receivedMessage),
    })),
    Acknowledge: unary<AckRequest>(
      gate,
      "Acknowledge",
      ({ subscription, ackIds }) => {
        broker.subscription(subscription).acknowledge(ackIds);
        return {};
      },
      ({ ackIds }) => ackIds.length,
    ),
    ModifyAckDeadline: unary<AckRequest & { ackDeadlineSeconds: number }>(
      gate,
      "ModifyAckDeadline",
      ({ subscription, ackIds, ackDeadlineSeconds }) => {
        broker.subscription(subscription).modifyAckDeadline(ackIds, ackDeadlineSeconds);
        return {};
      },
      ({ ackIds }) => ackIds.length,
    ),
    StreamingPull: streamingPull(broker, gate),
    ModifyPushConfig: unsupported(gate, "ModifyPushConfig", "push"),
    GetSnapshot: unsupported(gate, "GetSnapshot", "snapshots"),
    ListSnapshots: unsupported(gate, "ListSnapshots", "snapshots"),
    CreateSnapshot: unsupported(gate, "CreateSnapshot", "snapshots"),
    UpdateSnapshot: unsupported(gate, "UpdateSnapshot", "snapshots"),
    DeleteSnapshot: unsupported(gate, "DeleteSnapshot", "snapshots"),
    Seek: unsupported(gate, "Seek", "seek"),
  };
}

async function pull(
  subscription: Subscription,
  { maxMessages, returnImmediately }: PullRequest,
  { onGone, isGone, deadline }: Caller,
): Promise<readonly HandOver[]> {
  if (maxMessages <= 0) throw invalid(`The value for max_messages must be greater than 0: ${maxMessages}.`);
  if (returnImmediately) return isGone() ? [] : subscription.pullNow(maxMessages);
  const leftMs = deadline - Date.now();
  // One in the past is years away: see long-deadlines.ts. Callers whose time is up have gone.
  const waitMs = leftMs > 0 ? Math.min(leftMs, MAX_PULL_MS) : MAX_PULL_MS;
  let timer: NodeJS.Timeout | undefined;
  try {
    return await subscription.pull(maxMessages, (gone) => {
      onGone(gone);
      // By the machine's clock, as the caller's deadline is.
      timer = setTimeout(gone, Math.max(waitMs - PULL_MARGIN_MS, waitMs / 2, 0));
    });
  } finally {
    clearTimeout(timer);
  }
}

/** A `ReceivedMessage` of the API. */
export function receivedMessage({ ackId, message, deliveryAttempt }: HandOver): object {
  const { id, data, attributes, orderingKey, publishedAt } = message;
  const publishTime = durationOf(publishedAt);
  return { ackId, message: { data, attributes, messageId: id, publishTime, orderingKey }, deliveryAttempt };
}
