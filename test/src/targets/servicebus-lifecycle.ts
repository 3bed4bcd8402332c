import type { QueueDriver } from "@leasehold/core/driver";
import { type ServicebusEmulator, type ServicebusOptions, startServicebus } from "@leasehold/emulators";
import { createServicebusQueue, type ServicebusClients } from "@leasehold/servicebus";
import type { LifecycleHarness } from "../lifecycle/harness.ts";
import type { BrokerPort } from "../lifecycle/world.ts";
import type { QueueSide, Sides } from "./played-lifecycle.ts";
import { closePlayed, createPlayedClients, makeEntity } from "./servicebus-embedded.ts";
import { MANY_DELIVERIES, pathOf, redriveByHand, type ServicebusEntity } from "./servicebus-side.ts";

export interface ServicebusLifecycleVariant {
  readonly sessions: boolean;
  /** How the server is started. */
  readonly server?: ServicebusOptions;
}

/** As every entity has it unless it says otherwise (SB-02). */
const LOCK_MS = 60_000;
/** Of an entity of the Premium tier (SB-43), so that it holds a foreign event which is larger than what core takes. */
const MAX_MESSAGE_BYTES = 1_048_576;

/** The Service Bus driver on the embedded server. */
export function servicebusQueues({ sessions, server: options }: ServicebusLifecycleVariant): Sides["queues"] {
  return async (timeline, played): Promise<QueueSide> => {
    const server = await startServicebus({ ...options, clock: timeline.clock() });
    const pairs: ServicebusClients[] = [];
    const drivers: QueueDriver[] = [];

    function connect(): ServicebusClients {
      const pair = createPlayedClients(server);
      pairs.push(pair);
      return pair;
    }

    return {
      cannot: cannotOf(sessions),
      async make(name, { keepMs }) {
        const both = { sessions, lockMs: LOCK_MS, maxMessageBytes: MAX_MESSAGE_BYTES };
        const shape = { ...both, name, kind: "queue", maxDeliveries: MANY_DELIVERIES } as const;
        const entity = makeEntity(server, { ...shape, ...(keepMs !== undefined && { keepMs }) });
        const clients = connect();
        return {
          connect() {
            const driver = createServicebusQueue({ ...entity, ...both, clients, clock: timeline.clock() });
            drivers.push(driver);
            return driver;
          },
          broker: brokerOf(server, entity, connect),
        };
      },
      async stop() {
        for (const driver of drivers) await driver.close();
        await closePlayed(pairs, played);
        await server.stop();
      },
    };
  };
}

/** What can be done to an entity of the embedded server. */
function brokerOf(server: ServicebusEmulator, entity: ServicebusEntity, connect: () => ServicebusClients): BrokerPort {
  const path = pathOf(entity);
  return {
    async act(act, messageId) {
      return server.acts(path)[act === "dead-letter by count" ? "deadLetterByCount" : act](messageId);
    },
    messageIds: async () => server.acts(path).messageIds(),
    redriveByHand: () => redriveByHand(connect(), entity),
    async counts() {
      const { visible, inFlight, delayed } = server.acts(path).counts();
      const dead = server.acts(`${path}/$DeadLetterQueue`).counts();
      return { visible, leased: inFlight, delayed, deadLetters: dead.visible + dead.inFlight + dead.delayed };
    },
    stop: server.pause,
    start: server.resume,
  };
}

/** What Service Bus cannot be made to do; the ids are those of provider-facts. */
function cannotOf(sessions: boolean): LifecycleHarness["cannot"] {
  return {
    "total lease": "a lock can be renewed any number of times (SB-02)",
    "short delay": "a message can be scheduled for any time, and no setting changes that (SB-33)",
    "count visible": "messages are counted by the management service alone, which the driver does not call",
    duplicate: "a locked message is delivered to nobody else (SB-02)",
    ...(!sessions && { ordering: "an entity without sessions keeps no order" }),
  };
}
