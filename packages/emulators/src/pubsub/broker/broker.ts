import type { EmulatorClock } from "../../clock.ts";
import { alreadyExists, invalid, notFound, PubsubError } from "../errors.ts";
import { checkName, DELETED_TOPIC, projectOf } from "../names.ts";
import { checkMessages, type NewMessage, type StoredMessage } from "./message.ts";
import { completeSubscription, type SubscriptionConfig } from "./settings.ts";
import { createSubscription, type Subscription } from "./subscription.ts";

/** A `Topic` of the API; what else it holds is kept and shown. */
export interface TopicConfig {
  readonly name: string;
}

/** Topics and subscriptions, without a transport. Everything that is refused is a `PubsubError`. */
export interface Broker {
  createTopic(config: TopicConfig): TopicConfig;
  topic(name: string): TopicConfig;
  topics(project: string): readonly TopicConfig[];
  updateTopic(config: TopicConfig): TopicConfig;
  deleteTopic(name: string): void;
  /** Names of the subscriptions of a topic. */
  subscriptionsOf(topic: string): readonly string[];
  /** Answers the ids, in order. */
  publish(topic: string, messages: readonly NewMessage[]): readonly string[];
  createSubscription(config: SubscriptionConfig): SubscriptionConfig;
  subscription(name: string): Subscription;
  subscriptions(project: string): readonly SubscriptionConfig[];
  updateSubscription(config: SubscriptionConfig): SubscriptionConfig;
  deleteSubscription(name: string): void;
  close(): void;
}

export function createBroker(clock: EmulatorClock, rules: { readonly staleAck: "applied" | "ignored" }): Broker {
  const topics = new Map<string, TopicConfig>();
  const subscriptions = new Map<string, Subscription>();
  let published = 0;

  function topic(name: string): TopicConfig {
    const config = topics.get(checkName(name, "topics"));
    if (config === undefined) throw notFound(name);
    return config;
  }

  function subscription(name: string): Subscription {
    const found = subscriptions.get(checkName(name, "subscriptions"));
    if (found === undefined) throw notFound(name);
    return found;
  }

  function spread(topicName: string, messages: readonly NewMessage[]): readonly string[] {
    const publishedAt = clock.now();
    const stored = messages.map(
      ({ data = Buffer.alloc(0), attributes = {}, orderingKey = "" }): StoredMessage => ({
        id: String(++published),
        data,
        attributes,
        orderingKey,
        publishedAt,
      }),
    );
    for (const each of subscriptions.values()) if (each.config().topic === topicName) each.add(stored);
    return stored.map(({ id }) => id);
  }

  /** As the service marks what it forwards (PS-42). */
  function forward(message: StoredMessage, config: SubscriptionConfig, attempts: number): boolean {
    const target = config.deadLetterPolicy?.deadLetterTopic;
    if (target === undefined || !topics.has(target)) return false;
    const attributes = {
      ...message.attributes,
      CloudPubSubDeadLetterSourceDeliveryCount: String(attempts),
      CloudPubSubDeadLetterSourceSubscription: config.name.slice(config.name.lastIndexOf("/") + 1),
      CloudPubSubDeadLetterSourceSubscriptionProject: projectOf(config.name),
      CloudPubSubDeadLetterSourceTopicPublishTime: new Date(message.publishedAt).toISOString(),
    };
    spread(target, [{ ...message, attributes }]);
    return true;
  }

  function checked(config: SubscriptionConfig): SubscriptionConfig {
    const complete = completeSubscription(config);
    if (complete.filter) throw invalid("This server knows no filters: leave filter empty.");
    if (complete.pushConfig?.pushEndpoint) throw invalid("This server does not push: leave push_config empty.");
    if (complete.topic !== DELETED_TOPIC) topic(complete.topic);
    const { deadLetterTopic } = complete.deadLetterPolicy ?? {};
    if (deadLetterTopic !== undefined) topic(deadLetterTopic);
    return complete;
  }

  const ofProject = <Config extends { readonly name: string }>(project: string, configs: readonly Config[]) =>
    configs
      .filter(({ name }) => projectOf(name) === projectOf(project))
      .sort((one, other) => (one.name < other.name ? -1 : 1));

  return {
    createTopic(config) {
      checkName(config.name, "topics");
      if (topics.has(config.name)) throw alreadyExists(config.name);
      topics.set(config.name, config);
      return config;
    },
    topic,
    topics: (project) => ofProject(project, [...topics.values()]),
    updateTopic(config) {
      topic(config.name);
      topics.set(config.name, config);
      return config;
    },
    deleteTopic(name) {
      topic(name);
      topics.delete(name);
      // Subscriptions stay, with what they have.
      for (const each of subscriptions.values()) {
        if (each.config().topic === name) each.configure({ ...each.config(), topic: DELETED_TOPIC });
      }
    },
    subscriptionsOf(name) {
      topic(name);
      return [...subscriptions.values()]
        .map((each) => each.config())
        .filter((config) => config.topic === name)
        .map((config) => config.name)
        .sort();
    },
    publish(name, messages) {
      topic(name);
      checkMessages(messages);
      return spread(name, messages);
    },
    createSubscription(config) {
      const complete = checked(config);
      if (subscriptions.has(complete.name)) throw alreadyExists(complete.name);
      subscriptions.set(complete.name, createSubscription(complete, { clock, staleAck: rules.staleAck, forward }));
      return complete;
    },
    subscription,
    subscriptions: (project) =>
      ofProject(
        project,
        [...subscriptions.values()].map((each) => each.config()),
      ),
    updateSubscription(config) {
      const found = subscription(config.name);
      const complete = checked(config);
      found.configure(complete);
      return complete;
    },
    deleteSubscription(name) {
      const found = subscription(name);
      subscriptions.delete(name);
      found.close(notFound(name));
    },
    close() {
      for (const each of subscriptions.values()) each.close(new PubsubError("UNAVAILABLE", "The server ends."));
    },
  };
}
