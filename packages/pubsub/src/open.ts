import { invalid, isLeaseholdError, type Logger, type QueueDriver, silentLogger } from "@leasehold/core/driver";
import { type ConnectedClients, connectClients } from "./client.ts";
import { nameOf } from "./names.ts";
import { createPubsubQueue, type PubsubQueueOptions } from "./queue.ts";
import { readSubscription, type SubscriptionSettings, subscriptionsOf } from "./settings.ts";

export interface OpenPubsubQueueOptions
  extends Omit<PubsubQueueOptions, "exactlyOnce" | "ordering" | "deadLetterExactlyOnce"> {
  /** Default: what the dead-letter policy of the subscription names. */
  readonly deadLetterTopic?: string;
  /** Default: the first pull subscription of the dead-letter topic. */
  readonly deadLetterSubscription?: string;
}

/**
 * A broker that counts is not the judge of a task, and duplicates count as well: with few deliveries allowed it moves away
 * messages of tasks that are alive.
 */
const FEW_DELIVERIES = 50;

/**
 * Opens the queue that `pubsub://<project>/<topic>/<subscription>` names. Options as {@link openPubsubQueue}, without those three.
 * Errors likewise.
 */
export async function openQueue(
  url: string,
  options: Omit<OpenPubsubQueueOptions, "project" | "topic" | "subscription"> = {},
): Promise<QueueDriver> {
  const [, project, topic, subscription] = /^pubsub:\/\/([^/\s]+)\/([^/\s]+)\/([^/\s]+)$/.exec(url) ?? [];
  if (project === undefined || topic === undefined || subscription === undefined) {
    throw invalid("url", 'pubsub://<project>/<topic>/<subscription>, such as "pubsub://my-project/orders/orders"', url);
  }
  return openPubsubQueue({ ...options, project, topic, subscription });
}

/**
 * Opens a queue and asks the subscription how it is set up: exactly-once delivery, order, where its dead letters go.
 * Throws `InvalidArgument` (options; a subscription of another topic, or one that cannot be pulled; a dead-letter topic without a
 * subscription, which would lose what is sent there, PS-42), `NotFound`, `PermissionDenied`, `Unavailable`.
 */
export async function openPubsubQueue(options: OpenPubsubQueueOptions): Promise<QueueDriver> {
  const { project, logger = silentLogger } = options;
  const topic = nameOf("topics", project, options.topic, "topic").full;
  const subscription = nameOf("subscriptions", project, options.subscription, "subscription");
  const asking = connectClients(options);
  try {
    const settings = await readSubscription(asking.control, subscription.full);
    insistPulled(settings, subscription.full, "subscription");
    if (settings.topic !== topic) {
      throw invalid("subscription", `a subscription of ${topic}`, `one of ${settings.topic}`);
    }
    warnOfFew(logger, subscription.id, settings.maxDeliveryAttempts);
    const { exactlyOnce, ordering } = settings;
    const found = await deadLettersOf(asking, options, settings);
    return createPubsubQueue({ ...options, exactlyOnce, ordering, ...found });
  } finally {
    await asking.release();
  }
}

type FoundDeadLetters = Pick<
  PubsubQueueOptions,
  "deadLetterTopic" | "deadLetterSubscription" | "deadLetterExactlyOnce"
>;

/** Where dead letters go and where they can be looked at. */
async function deadLettersOf(
  { control, publisher }: ConnectedClients,
  { project, deadLetterTopic, deadLetterSubscription }: OpenPubsubQueueOptions,
  settings: SubscriptionSettings,
): Promise<FoundDeadLetters> {
  const given = deadLetterTopic && nameOf("topics", project, deadLetterTopic, "deadLetterTopic").full;
  const topic = given ?? settings.deadLetterTopic;
  if (topic === undefined) {
    if (deadLetterSubscription === undefined) return {};
    throw invalid("deadLetterSubscription", "none where there is no dead-letter topic", deadLetterSubscription);
  }
  const names = await subscriptionsOf(publisher, topic);
  if (names.length === 0) {
    throw invalid("deadLetterTopic", "a topic that has a subscription, since it keeps nothing otherwise", topic);
  }
  if (deadLetterSubscription !== undefined) {
    const { full } = nameOf("subscriptions", project, deadLetterSubscription, "deadLetterSubscription");
    if (!names.includes(full)) throw invalid("deadLetterSubscription", `a subscription of ${topic}`, full);
    const letters = await readSubscription(control, full);
    insistPulled(letters, full, "deadLetterSubscription");
    return { deadLetterTopic: topic, deadLetterSubscription: full, deadLetterExactlyOnce: letters.exactlyOnce };
  }
  for (const name of names) {
    const letters = await readIfAllowed(control, name);
    if (letters === undefined || letters.unpulled !== undefined) continue;
    return { deadLetterTopic: topic, deadLetterSubscription: name, deadLetterExactlyOnce: letters.exactlyOnce };
  }
  return { deadLetterTopic: topic };
}

/** A subscription that the caller may not see, or that was deleted just now, is none to look at. */
async function readIfAllowed(
  control: ConnectedClients["control"],
  name: string,
): Promise<SubscriptionSettings | undefined> {
  try {
    return await readSubscription(control, name);
  } catch (error) {
    if (isLeaseholdError(error, "PermissionDenied") || isLeaseholdError(error, "NotFound")) return undefined;
    throw error;
  }
}

function insistPulled({ unpulled }: SubscriptionSettings, name: string, field: string): void {
  if (unpulled !== undefined) throw invalid(field, `one that can be pulled; ${name} is not: ${unpulled}`, name);
}

function warnOfFew(logger: Logger, queue: string, maxDeliveryAttempts: number | undefined): void {
  if (maxDeliveryAttempts === undefined || maxDeliveryAttempts >= FEW_DELIVERIES) return;
  logger.warn(
    `maxDeliveryAttempts of the dead-letter policy is below ${FEW_DELIVERIES}: Pub/Sub will take away messages of tasks that are alive; leasehold counts attempts itself, so set it to ${FEW_DELIVERIES} or more`,
    { queue, maxDeliveryAttempts },
  );
}
