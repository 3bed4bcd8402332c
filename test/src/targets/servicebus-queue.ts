import { randomUUID } from "node:crypto";
import type { QueueDriver } from "@leasehold/core/driver";
import { createServicebusQueue, openServicebusQueue } from "@leasehold/servicebus";
import type { QueueHarness, QueueWishes } from "../queue/harness.ts";
import {
  cannotOf,
  type EntityShape,
  MANY_DELIVERIES,
  type ServicebusEntity,
  type ServicebusSide,
} from "./servicebus-side.ts";

export interface ServicebusVariant {
  /** Default `queue`. */
  readonly kind?: EntityShape["kind"];
  readonly sessions?: boolean;
}

/** What the broker counts beside the body is told by each case on `maxMessageBytes` of the driver. */
const OVERHEAD_BYTES = 0;

/** The Service Bus driver on one side, with entities of this kind. */
export function servicebusQueueHarness(side: ServicebusSide, variant: ServicebusVariant): QueueHarness {
  const { kind = "queue", sessions: isOrdered = false } = variant;
  const drivers: QueueDriver[] = [];
  const lockMs = side.minLeaseMs;

  async function make(wishes: QueueWishes = {}) {
    const { ordering: sessions = isOrdered, maxDeliveries = MANY_DELIVERIES, duplicateWindowMs } = wishes;
    const shape = { name: `suite-${randomUUID()}`, kind, sessions, lockMs, maxDeliveries };
    const entity = await side.make({ ...shape, ...(duplicateWindowMs !== undefined && { duplicateWindowMs }) });
    return { entity, sessions };
  }

  function kept(driver: QueueDriver): QueueDriver {
    drivers.push(driver);
    return driver;
  }

  /** Without a call, so that it can be made when the server is away. */
  function connect(entity: ServicebusEntity, sessions: boolean, clients = side.connect()): QueueDriver {
    return kept(createServicebusQueue({ ...entity, sessions, lockMs, clients, ...side.time }));
  }

  return {
    ...side,
    overheadBytes: OVERHEAD_BYTES,
    cannot: { ...side.cannot, ...cannotOf(isOrdered) },
    async open(wishes) {
      const { entity, sessions } = await make(wishes);
      const driver = kept(await openServicebusQueue({ ...entity, lockMs, clients: side.connect(), ...side.time }));
      return {
        ...side,
        driver,
        another: async () => connect(entity, sessions),
        act: (act, messageId) => side.act(act, entity, messageId),
      };
    },
    async openMissing() {
      const { entity, sessions } = await make();
      const missing = Object.fromEntries(
        Object.entries(entity).map(([name, value]) => [name, value.replace("suite-", "missing-")]),
      ) as unknown as ServicebusEntity;
      return connect(missing, sessions);
    },
    async openWithWrongCredentials() {
      const { entity, sessions } = await make();
      return connect(entity, sessions, side.connect("wrong"));
    },
    async close() {
      for (const driver of drivers) await driver.close();
      await side.close();
    },
  };
}
