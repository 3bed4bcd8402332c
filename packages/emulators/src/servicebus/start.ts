import type { BrokerActs } from "../broker-acts.ts";
import type { Emulator, EmulatorOptions } from "../shape.ts";
import type { EntitySettings, TopicSettings } from "./entity-settings.ts";

export interface ServicebusOptions extends EmulatorOptions {
  /** A link without traffic is detached after it, ms. Default 600,000 (SB-05); `Infinity`: never. */
  readonly linkIdleMs?: number;
  /** How long a token lets its caller in, ms, by the emulator's clock. Default: for ever. */
  readonly tokenLifetimeMs?: number;
}

export interface ServicebusEmulator extends Emulator {
  /** What the SDKs take: plain AMQP 1.0 over TCP, any key. */
  readonly connectionString: string;
  /** Throws when there is an entity of this name, and when a setting is out of range. */
  createQueue(name: string, settings?: EntitySettings): void;
  createTopic(name: string, settings?: TopicSettings): void;
  /** A subscription without rules: it gets all that is sent to the topic from now on. */
  createSubscription(topic: string, name: string, settings?: EntitySettings): void;
  /** Detaches every link of an entity, or of all (`amqp:link:detach-forced`), as the service does when it moves a broker. Answers how many. */
  detach(entity?: string): number;
  /** What can be done to the messages of `q`, `topic/Subscriptions/sub` or `q/$DeadLetterQueue`. Throws when there is none. */
  acts(entity: string): BrokerActs;
}

/** Starts a Service Bus namespace on 127.0.0.1. It speaks AMQP 1.0, and keeps everything in memory. */
export async function startServicebus(_options: ServicebusOptions = {}): Promise<ServicebusEmulator> {
  throw new Error("under construction");
}
