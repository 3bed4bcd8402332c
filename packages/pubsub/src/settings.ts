import type { protos, v1 } from "@google-cloud/pubsub";
import { LeaseholdError } from "@leasehold/core/driver";
import { CONTROL_TIMEOUT_MS, callOptions, ready } from "./client.ts";
import { fromPubsub } from "./errors.ts";

/** What a subscription says of its setup. */
export interface SubscriptionSettings {
  /** Full name. */
  readonly topic: string;
  readonly exactlyOnce: boolean;
  readonly ordering: boolean;
  /** Full name. */
  readonly deadLetterTopic: string | undefined;
  /** Absent without a dead-letter policy. */
  readonly maxDeliveryAttempts: number | undefined;
  /** Why it cannot be pulled; absent: it can. */
  readonly unpulled: string | undefined;
}

/** What a name reads as once its topic was deleted. */
const DELETED = "_deleted-topic_";
/** Of a policy that names none (PS-41). */
const DEFAULT_DELIVERIES = 5;

/** Asks the subscription. Throws `NotFound` (also when its topic was deleted), `PermissionDenied`, `Unavailable`, … */
export async function readSubscription(control: v1.SubscriberClient, name: string): Promise<SubscriptionSettings> {
  const doing = `reading the settings of ${name}`;
  let found: protos.google.pubsub.v1.ISubscription;
  try {
    const client = await ready(control);
    [found] = await client.getSubscription({ subscription: name }, callOptions(CONTROL_TIMEOUT_MS));
  } catch (error) {
    throw fromPubsub(error, doing, "pubsub.subscriptions.get");
  }
  const { topic, deadLetterPolicy: policy } = found;
  if (!topic || topic === DELETED) throw new LeaseholdError("NotFound", `${doing}: its topic was deleted`);
  const deadLetterTopic = policy?.deadLetterTopic;
  return {
    topic,
    exactlyOnce: found.enableExactlyOnceDelivery === true,
    ordering: found.enableMessageOrdering === true,
    deadLetterTopic: !deadLetterTopic || deadLetterTopic === DELETED ? undefined : deadLetterTopic,
    maxDeliveryAttempts: policy ? policy.maxDeliveryAttempts || DEFAULT_DELIVERIES : undefined,
    unpulled: unpulledOf(found),
  };
}

function unpulledOf(found: protos.google.pubsub.v1.ISubscription): string | undefined {
  if (found.detached === true) return "it is detached from its topic";
  if (found.pushConfig?.pushEndpoint) return "it pushes to an endpoint";
  if (found.bigqueryConfig?.table) return "it writes to BigQuery";
  if (found.cloudStorageConfig?.bucket) return "it writes to Cloud Storage";
  return undefined;
}

/** Full names of the subscriptions of a topic. Throws `NotFound`, `PermissionDenied`, `Unavailable`, … */
export async function subscriptionsOf(publisher: v1.PublisherClient, topic: string): Promise<readonly string[]> {
  try {
    const client = await ready(publisher);
    const [names] = await client.listTopicSubscriptions({ topic }, callOptions(CONTROL_TIMEOUT_MS));
    return names;
  } catch (error) {
    throw fromPubsub(error, `listing the subscriptions of ${topic}`, "pubsub.topics.get");
  }
}
