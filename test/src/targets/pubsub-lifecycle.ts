import type { QueueDriver } from "@leasehold/core/driver";
import { type PubsubEmulator, startPubsub } from "@leasehold/emulators";
import { createPubsubQueue } from "@leasehold/pubsub";
import type { LifecycleHarness } from "../lifecycle/harness.ts";
import type { BrokerPort } from "../lifecycle/world.ts";
import type { QueueSide, Sides } from "./played-lifecycle.ts";
import { closeAll, connected, createPlayedClients } from "./pubsub-clients.ts";
import { ACK_DEADLINE_SECONDS, MANY_DELIVERIES, type PubsubQueue, redriveByHand } from "./pubsub-side.ts";

export interface PubsubLifecycleVariant {
  readonly exactlyOnce?: boolean;
  readonly ordering?: boolean;
}

/** The Pub/Sub driver on the embedded server. */
export function pubsubQueues({ exactlyOnce = false, ordering = false }: PubsubLifecycleVariant): Sides["queues"] {
  return async (timeline): Promise<QueueSide> => {
    const server = await startPubsub({ clock: timeline.clock() });
    const { projectId: project, endpoint } = server;
    const clients = createPlayedClients({ endpoint, project, clock: timeline.clock() });
    const drivers: QueueDriver[] = [];

    function make(name: string, keepMs: number | undefined): Required<PubsubQueue> {
      const dead = `${name}-dead`;
      const deadLetterTopic = server.createTopic(dead);
      const kind = { enableExactlyOnceDelivery: exactlyOnce, ackDeadlineSeconds: ACK_DEADLINE_SECONDS };
      server.createSubscription(dead, { ...kind, topic: dead });
      server.createTopic(name);
      server.createSubscription(name, {
        ...kind,
        topic: name,
        enableMessageOrdering: ordering,
        deadLetterTopic,
        maxDeliveryAttempts: MANY_DELIVERIES,
        ...(keepMs !== undefined && { retentionMs: keepMs }),
      });
      return { topic: name, subscription: name, deadLetterTopic: dead, deadLetterSubscription: dead };
    }

    return {
      cannot: cannotOf(exactlyOnce, ordering),
      async make(name, { keepMs }) {
        const queue = make(name, keepMs);
        const settings = { ...queue, project, exactlyOnce, deadLetterExactlyOnce: exactlyOnce, ordering, clients };
        return {
          connect() {
            const driver = createPubsubQueue({ ...settings, clock: timeline.clock() });
            drivers.push(driver);
            return driver;
          },
          broker: {
            ...brokerOf(server, queue),
            redriveByHand: () => redriveByHand(clients, project, queue),
            async start() {
              await server.resume();
              await connected([clients]);
            },
          },
        };
      },
      async stop() {
        for (const driver of drivers) await driver.close();
        await closeAll([clients]);
        await server.stop();
      },
    };
  };
}

/** What can be done to a subscription of the embedded server. */
function brokerOf(
  server: PubsubEmulator,
  { subscription, deadLetterSubscription }: Required<PubsubQueue>,
): Omit<BrokerPort, "redriveByHand" | "start"> {
  return {
    async act(act, messageId) {
      return server.acts(subscription)[act === "dead-letter by count" ? "deadLetterByCount" : act](messageId);
    },
    messageIds: async () => server.acts(subscription).messageIds(),
    async counts() {
      const { visible, inFlight, delayed } = server.acts(subscription).counts();
      const dead = server.acts(deadLetterSubscription).counts();
      return { visible, leased: inFlight, delayed, deadLetters: dead.visible + dead.inFlight + dead.delayed };
    },
    stop: server.pause,
  };
}

/** What Pub/Sub cannot be made to do; the ids are those of provider-facts. */
function cannotOf(exactlyOnce: boolean, ordering: boolean): LifecycleHarness["cannot"] {
  return {
    "total lease": "Pub/Sub lets a message be held for any time in all (PS-05)",
    "short delay": "Pub/Sub holds a message back for up to 10 min, and no setting changes that (PS-44)",
    "count visible": "Pub/Sub has no call that counts messages",
    ...(exactlyOnce
      ? { duplicate: "with exactly-once delivery no message is out twice (PS-04)" }
      : { "tell a lost lease": "without exactly-once delivery a stale ack id is answered as a live one (PS-02)" }),
    ...(!ordering && { ordering: "this subscription keeps no order" }),
  };
}
