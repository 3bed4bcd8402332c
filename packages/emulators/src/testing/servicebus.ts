/** What the checks of the Service Bus server share: a server on a clock that they move, and the vendor's client. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  ServiceBusClient,
  type ServiceBusMessage,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
  type ServiceBusReceiverOptions,
  type ServiceBusSender,
  type ServiceBusSessionReceiver,
} from "@azure/service-bus";
import type { BrokerActs } from "../broker-acts.ts";
import { createHandClock, type HandClock } from "../hand-clock.ts";
import type { EntitySettings } from "../servicebus/entity-settings.ts";
import { type ServicebusEmulator, type ServicebusOptions, startServicebus } from "../servicebus/start.ts";

/** Long enough for a busy machine. Nothing that is expected to happen waits for it. */
const PATIENCE_MS = 30_000;
/** How long a receive waits that is to come back with nothing. What is there comes before its end is confirmed (emulators.md 1.3, drain). */
const GLANCE_MS = 50;

export interface Fixture {
  readonly servicebus: ServicebusEmulator;
  readonly clock: HandClock;
  readonly client: ServiceBusClient;
  /** Another connection. `timeoutInMs`: of each of its operations. It does not retry. */
  connect(timeoutInMs?: number, connectionString?: string): ServiceBusClient;
  /** A queue of its own. */
  queue(settings?: EntitySettings, name?: string): EntityFixture;
  /** A subscription of its own. Its topic is made with the first. */
  subscription(topic: string, name: string, settings?: EntitySettings): EntityFixture;
  /** Resolves when everything that the server wrote to the connection before has arrived. */
  roundTrip(client?: ServiceBusClient): Promise<void>;
}

/** Shorthands for one queue or subscription. */
export interface EntityFixture {
  /** `queue`, `topic/Subscriptions/subscription`. */
  readonly path: string;
  /** Peek-lock; bodies stay as they came; no lock is renewed unless asked. */
  readonly receiver: ServiceBusReceiver;
  readonly acts: BrokerActs;
  send(...messages: readonly (ServiceBusMessage | string)[]): Promise<void>;
  /** Receives exactly so many, default 1, in the order that they came. */
  take(count?: number, receiver?: Receives): Promise<readonly ServiceBusReceivedMessage[]>;
  /** Receives exactly one. */
  one(receiver?: Receives): Promise<ServiceBusReceivedMessage>;
  /** Fails when there is something to be received. */
  none(receiver?: Receives): Promise<void>;
  /** Another receiver, on this connection or on that of `client`. */
  open(options?: ServiceBusReceiverOptions, client?: ServiceBusClient): ServiceBusReceiver;
  /** The receiver of its dead letters. */
  deadLetters(): ServiceBusReceiver;
  /** Takes a session: this one, or the next that has something and is free. */
  session(sessionId?: string, client?: ServiceBusClient): Promise<ServiceBusSessionReceiver>;
  sender(client?: ServiceBusClient): ServiceBusSender;
}

type Receives = Pick<ServiceBusReceiver, "receiveMessages">;

export async function openServicebus(test: TestContext, options: ServicebusOptions = {}): Promise<Fixture> {
  const clock = createHandClock();
  // Hours pass in a moment here, and links are not to end by it.
  const servicebus = await startServicebus({ clock, linkIdleMs: Number.POSITIVE_INFINITY, ...options });
  const clients: ServiceBusClient[] = [];

  function connect(timeoutInMs = PATIENCE_MS, connectionString = servicebus.connectionString): ServiceBusClient {
    const client = new ServiceBusClient(connectionString, { retryOptions: { maxRetries: 0, timeoutInMs } });
    clients.push(client);
    return client;
  }

  // A client whose server is gone does not come back from close() (emulators.md 1.4, quirk 6).
  test.after(async () => {
    for (const client of clients) await client.close();
    await servicebus.stop();
  });

  const client = connect();
  const topics = new Set<string>();
  let queues = 0;
  return {
    servicebus,
    clock,
    client,
    connect,
    queue(settings = {}, name = `queue-${++queues}`) {
      servicebus.createQueue(name, settings);
      return entityFixture(servicebus, client, name);
    },
    subscription(topic, name, settings = {}) {
      if (!topics.has(topic)) servicebus.createTopic(topic);
      topics.add(topic);
      servicebus.createSubscription(topic, name, settings);
      return entityFixture(servicebus, client, topic, name);
    },
    async roundTrip(through = client) {
      const name = `round-trip-${++queues}`;
      servicebus.createQueue(name);
      assert.deepEqual(await through.createReceiver(name).peekMessages(1), []);
    },
  };
}

function entityFixture(
  servicebus: ServicebusEmulator,
  ownClient: ServiceBusClient,
  name: string,
  subscription?: string,
): EntityFixture {
  const path = subscription === undefined ? name : `${name}/Subscriptions/${subscription}`;
  const senders = new Map<ServiceBusClient, ServiceBusSender>();

  function open(options: ServiceBusReceiverOptions = {}, client = ownClient): ServiceBusReceiver {
    const all = { maxAutoLockRenewalDurationInMs: 0, skipParsingBodyAsJson: true, ...options };
    return subscription === undefined
      ? client.createReceiver(name, all)
      : client.createReceiver(name, subscription, all);
  }

  function sender(client = ownClient): ServiceBusSender {
    const known = senders.get(client) ?? client.createSender(name);
    senders.set(client, known);
    return known;
  }

  const receiver = open();

  async function take(count = 1, from: Receives = receiver): Promise<readonly ServiceBusReceivedMessage[]> {
    const messages: ServiceBusReceivedMessage[] = [];
    while (messages.length < count) {
      const more = await from.receiveMessages(count - messages.length, { maxWaitTimeInMs: PATIENCE_MS });
      assert.notEqual(more.length, 0, `${count} messages were expected on ${path}, ${messages.length} came`);
      messages.push(...more);
    }
    assert.equal(messages.length, count);
    return messages;
  }

  return {
    path,
    receiver,
    acts: servicebus.acts(path),
    async send(...messages) {
      for (const message of messages)
        await sender().sendMessages(typeof message === "string" ? { body: Buffer.from(message) } : message);
    },
    take,
    async one(from) {
      return (await take(1, from))[0] as ServiceBusReceivedMessage;
    },
    async none(from = receiver) {
      assert.deepEqual(bodies(await from.receiveMessages(1, { maxWaitTimeInMs: GLANCE_MS })), []);
    },
    open,
    deadLetters: () => open({ subQueueType: "deadLetter" }),
    async session(sessionId, client = ownClient) {
      const options = { maxAutoLockRenewalDurationInMs: 0, skipParsingBodyAsJson: true };
      if (subscription === undefined)
        return sessionId === undefined
          ? client.acceptNextSession(name, options)
          : client.acceptSession(name, sessionId, options);
      return sessionId === undefined
        ? client.acceptNextSession(name, subscription, options)
        : client.acceptSession(name, subscription, sessionId, options);
    },
    sender,
  };
}

/** The text of each body. */
export function bodies(messages: readonly ServiceBusMessage[]): readonly string[] {
  return messages.map(({ body }) => String(body));
}
