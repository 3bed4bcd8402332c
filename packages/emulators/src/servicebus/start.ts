import type { BrokerActs } from "../broker-acts.ts";
import { createCallBook } from "../calls.ts";
import { steadyClock } from "../clock.ts";
import { createEndingClock } from "../ending-clock.ts";
import { createFaultPlan } from "../faults.ts";
import type { Emulator, EmulatorOptions } from "../shape.ts";
import { createActs } from "./acts.ts";
import { isWithin, pathOf } from "./amqp/address.ts";
import { createGate } from "./amqp/gate.ts";
import { createLinks, detachForced } from "./amqp/links.ts";
import { listen } from "./amqp/listen.ts";
import { createNamespace } from "./broker/namespace.ts";
import type { EntitySettings, TopicSettings } from "./entity-settings.ts";
import { entityNotFound } from "./errors.ts";

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
  /**
   * Detaches every link of an entity and of what is below it, or of all (`amqp:link:detach-forced`), as the service does
   * when it moves a broker. Locks of messages stay, those of sessions do not. Answers how many.
   */
  detach(entity?: string): number;
  /** What can be done to the messages of `q`, `topic/Subscriptions/sub` or `q/$DeadLetterQueue`. Throws when there is none. */
  acts(entity: string): BrokerActs;
}

const LINK_IDLE_MS = 600_000;
const KEY_NAME = "RootManageSharedAccessKey";

/** Starts a Service Bus namespace on 127.0.0.1. It speaks AMQP 1.0, and keeps everything in memory. */
export async function startServicebus(options: ServicebusOptions = {}): Promise<ServicebusEmulator> {
  const clock = createEndingClock(options.clock ?? steadyClock);
  const calls = createCallBook();
  const faults = createFaultPlan(options.faults ?? [], options.latencyMs ?? 0);
  const namespace = createNamespace(clock);
  const links = createLinks(clock, options.linkIdleMs ?? LINK_IDLE_MS);
  const gate = createGate({ clock, calls, faults, onCall: options.onCall });

  const tokenRules = { keyName: options.accessKeyId, lifetimeMs: options.tokenLifetimeMs };
  const listener = await listen({ clock, namespace, gate, links }, options.port ?? 0, tokenRules);
  const endpoint = `sb://127.0.0.1:${listener.number}`;
  const keyName = options.accessKeyId ?? KEY_NAME;
  return {
    endpoint,
    connectionString: `Endpoint=${endpoint};SharedAccessKeyName=${keyName};SharedAccessKey=local;UseDevelopmentEmulator=true`,
    calls,
    faults,
    createQueue: (name, settings = {}) => namespace.createQueue(name, settings),
    createTopic: (name, settings = {}) => namespace.createTopic(name, settings),
    createSubscription: (topic, name, settings = {}) => namespace.createSubscription(topic, name, settings),
    detach(entity = "") {
      const path = pathOf(entity);
      return links.detach(
        (link) => isWithin(link.path, path),
        ({ path: of }) => detachForced(`The link of ${of} is force detached: the broker moves.`),
      );
    },
    acts(entity) {
      const found = namespace.find(pathOf(entity));
      if (found.kind === "topic") throw entityNotFound(`${entity} (a topic has no messages; its subscriptions have)`);
      return createActs(found.queue);
    },
    pause: listener.pause,
    resume: listener.resume,
    async stop() {
      await listener.stop();
      clock.end();
    },
  };
}
