import type { UntypedServiceImplementation } from "@grpc/grpc-js";
import type { Broker, TopicConfig } from "../broker/broker.ts";
import type { NewMessage } from "../broker/message.ts";
import type { Gate } from "./gate.ts";
import { masked } from "./mask.ts";
import { type PageRequest, pageOf } from "./pages.ts";
import { unary } from "./unary.ts";
import { unsupported } from "./unsupported.ts";

/** The service `google.pubsub.v1.Publisher`. */
export function publisherService(broker: Broker, gate: Gate): UntypedServiceImplementation {
  return {
    CreateTopic: unary<TopicConfig>(gate, "CreateTopic", (topic) => broker.createTopic(topic)),
    GetTopic: unary<{ topic: string }>(gate, "GetTopic", ({ topic }) => broker.topic(topic)),
    UpdateTopic: unary<{ topic: TopicConfig; updateMask: { paths: string[] } | null }>(
      gate,
      "UpdateTopic",
      ({ topic, updateMask }) => broker.updateTopic(masked(broker.topic(topic.name), topic, updateMask?.paths)),
    ),
    ListTopics: unary<PageRequest & { project: string }>(gate, "ListTopics", (request) => {
      const { items: topics, nextPageToken } = pageOf(broker.topics(request.project), ({ name }) => name, request);
      return { topics, nextPageToken };
    }),
    ListTopicSubscriptions: unary<PageRequest & { topic: string }>(gate, "ListTopicSubscriptions", (request) => {
      const { items: subscriptions, nextPageToken } = pageOf(
        broker.subscriptionsOf(request.topic),
        (name) => name,
        request,
      );
      return { subscriptions, nextPageToken };
    }),
    DeleteTopic: unary<{ topic: string }>(gate, "DeleteTopic", ({ topic }) => {
      broker.deleteTopic(topic);
      return {};
    }),
    Publish: unary<{ topic: string; messages: NewMessage[] }>(
      gate,
      "Publish",
      ({ topic, messages }) => ({ messageIds: broker.publish(topic, messages) }),
      ({ messages }) => messages.length,
    ),
    ListTopicSnapshots: unsupported(gate, "ListTopicSnapshots", "snapshots"),
    DetachSubscription: unsupported(gate, "DetachSubscription", "detached subscriptions"),
  };
}
