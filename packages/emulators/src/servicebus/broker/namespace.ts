import type { EmulatorClock } from "../../clock.ts";
import type { EntitySettings, TopicSettings } from "../entity-settings.ts";
import { entityNotFound } from "../errors.ts";
import { createQueue, type Queue } from "./queue.ts";
import { deadLetterSettings, queueSettings, topicSettings } from "./settings.ts";
import { createTopic, type Topic } from "./topic.ts";

/** What is behind an address. */
export type Entity =
  | { readonly kind: "queue"; readonly queue: Queue }
  | { readonly kind: "subscription"; readonly queue: Queue }
  | { readonly kind: "dead-letters"; readonly queue: Queue }
  | { readonly kind: "topic"; readonly topic: Topic };

/** All queues and topics. Their names do not depend on case. */
export interface Namespace {
  createQueue(name: string, settings: EntitySettings): void;
  createTopic(name: string, settings: TopicSettings): void;
  createSubscription(topic: string, name: string, settings: EntitySettings): void;
  /** Throws `amqp:not-found`. */
  find(path: string): Entity;
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._/~-]{0,258}[A-Za-z0-9_])?$/;
/** Parts of an address that say something about the entity before them. */
const RESERVED = /(?:^|\/)(?:subscriptions|\$)/i;

export function createNamespace(clock: EmulatorClock): Namespace {
  const entities = new Map<string, Entity>();

  function checkName(name: string): void {
    if (!NAME.test(name) || RESERVED.test(name)) throw new RangeError(`This is no name of an entity: ${name}`);
  }

  function put(path: string, entity: Entity): void {
    const key = path.toLowerCase();
    if (entities.has(key)) throw new Error(`There is an entity of this name already: ${path}`);
    entities.set(key, entity);
  }

  function putQueue(kind: "queue" | "subscription", path: string, settings: EntitySettings): Queue {
    const all = queueSettings(settings);
    const forDead = deadLetterSettings(all);
    const deadLetters = createQueue(clock, `${path}/$DeadLetterQueue`, forDead, undefined);
    const queue = createQueue(clock, path, all, deadLetters);
    put(path, { kind, queue });
    put(deadLetters.path, { kind: "dead-letters", queue: deadLetters });
    const transfers = createQueue(clock, `${path}/$Transfer/$DeadLetterQueue`, forDead, undefined);
    put(transfers.path, { kind: "dead-letters", queue: transfers });
    return queue;
  }

  return {
    createQueue(name, settings) {
      checkName(name);
      putQueue("queue", name, settings);
    },
    createTopic(name, settings) {
      checkName(name);
      put(name, { kind: "topic", topic: createTopic(clock, name, topicSettings(settings)) });
    },
    createSubscription(topic, name, settings) {
      checkName(name);
      const found = entities.get(topic.toLowerCase());
      if (found?.kind !== "topic") throw entityNotFound(topic);
      found.topic.subscribe(putQueue("subscription", `${found.topic.path}/Subscriptions/${name}`, settings));
    },
    find(path) {
      const found = entities.get(path.toLowerCase());
      if (found === undefined) throw entityNotFound(path);
      return found;
    },
  };
}
