import type { BrokerActs } from "../broker-acts.ts";
import { steadyClock } from "../clock.ts";
import type { Emulator, EmulatorOptions } from "../shape.ts";
import { createBroker } from "./broker/broker.ts";
import { startGrpc } from "./grpc/server.ts";
import { nameOf } from "./names.ts";

export interface PubsubOptions extends EmulatorOptions {
  /** Default `local`. */
  readonly projectId?: string;
  /**
   * An ack after the deadline and before the next delivery, where deliveries are not exactly-once: `applied` (default, as Google's own
   * emulator does) or `ignored`. The service promises neither (PS-02).
   */
  readonly staleAck?: "applied" | "ignored";
}

export interface SubscriptionSettings {
  /** The short or the full name. */
  readonly topic: string;
  /** 10..600, default 10 (PS-03). */
  readonly ackDeadlineSeconds?: number;
  readonly enableMessageOrdering?: boolean;
  readonly enableExactlyOnceDelivery?: boolean;
  /** The short or the full name of a topic that is there. */
  readonly deadLetterTopic?: string;
  /** 5..100, default 5 (PS-41). */
  readonly maxDeliveryAttempts?: number;
  /** 0..600,000; with either of the two there is a retry policy, 10 s to 600 s by default (PS-44). */
  readonly minimumBackoffMs?: number;
  readonly maximumBackoffMs?: number;
  /** Age at which a message vanishes, ms. Default 7 days. */
  readonly retentionMs?: number;
}

export interface PubsubEmulator extends Emulator {
  readonly projectId: string;
  /** Answers its full name. Throws when there is one of this name, or the name is none. */
  createTopic(name: string): string;
  /** Answers its full name. Throws when a setting is out of range, or a topic is not there. */
  createSubscription(name: string, settings: SubscriptionSettings): string;
  /** What can be done to the messages of a subscription. Takes its short or full name; throws when there is none. */
  acts(subscription: string): BrokerActs;
}

/** Starts a Pub/Sub server on 127.0.0.1. It speaks gRPC without TLS, and keeps everything in memory. */
export async function startPubsub(options: PubsubOptions = {}): Promise<PubsubEmulator> {
  const { projectId = "local", staleAck = "applied" } = options;
  const broker = createBroker(options.clock ?? steadyClock, { staleAck });
  const server = await startGrpc(broker, options);
  const topic = (name: string): string => nameOf(projectId, "topics", name);
  const subscription = (name: string): string => nameOf(projectId, "subscriptions", name);
  return {
    ...server,
    projectId,
    createTopic: (name) => broker.createTopic({ name: topic(name) }).name,
    createSubscription(name, settings) {
      const { deadLetterTopic, maxDeliveryAttempts = 0, minimumBackoffMs, maximumBackoffMs, retentionMs } = settings;
      const hasRetryPolicy = minimumBackoffMs !== undefined || maximumBackoffMs !== undefined;
      return broker.createSubscription({
        name: subscription(name),
        topic: topic(settings.topic),
        ackDeadlineSeconds: settings.ackDeadlineSeconds ?? 0,
        enableMessageOrdering: settings.enableMessageOrdering ?? false,
        enableExactlyOnceDelivery: settings.enableExactlyOnceDelivery ?? false,
        ...(deadLetterTopic !== undefined && {
          deadLetterPolicy: { deadLetterTopic: topic(deadLetterTopic), maxDeliveryAttempts },
        }),
        ...(hasRetryPolicy && {
          retryPolicy: { minimumBackoff: durationOf(minimumBackoffMs), maximumBackoff: durationOf(maximumBackoffMs) },
        }),
        ...(retentionMs !== undefined && { messageRetentionDuration: durationOf(retentionMs) }),
      }).name;
    },
    acts: (name) => broker.subscription(subscription(name)).acts(),
  };
}

function durationOf(ms: number | undefined): { readonly seconds: string; readonly nanos: number } | null {
  if (ms === undefined) return null;
  return { seconds: String(Math.floor(ms / 1_000)), nanos: Math.round((ms % 1_000) * 1_000_000) };
}
