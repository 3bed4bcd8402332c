import assert from "node:assert/strict";
import { ServiceBusAdministrationClient } from "@azure/service-bus";
import { createClients, type ServicebusClients } from "@leasehold/servicebus";
import {
  closeAll,
  type EntityShape,
  redriveByHand,
  type ServicebusEntity,
  type ServicebusSide,
  SUBSCRIPTION,
} from "./servicebus-side.ts";

/** What a case cannot ask of a server that it does not own. */
const REMOTE_CANNOT = "this server is not ours: nothing can be done to it";
/** Short, so that a run does not take long; the service allows 5 s and more. */
const LOCK_MS = 10_000;
/** Where Microsoft's emulator takes requests for entities, over plain HTTP, unless `SERVICEBUS_EMULATOR_HTTP_PORT` says otherwise. */
const EMULATOR_HTTP_PORT = "5300";

/** A namespace, or Microsoft's emulator, by its connection string; in real time, and nothing is done to it. */
export function remoteSide(connectionString: string): ServicebusSide {
  const pairs: ServicebusClients[] = [];
  const made: ServicebusEntity[] = [];
  const administration = createAdministration(connectionString);
  const refuse = async (): Promise<never> => {
    throw new Error(REMOTE_CANNOT);
  };
  return {
    has: new Set(["shortLease"]),
    minLeaseMs: LOCK_MS,
    toleranceMs: 3_000,
    cannot: { expire: REMOTE_CANNOT },
    time: {},
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    until: (call) => call,
    connect() {
      const pair = createClients({ connectionString });
      pairs.push(pair);
      return pair;
    },
    async make(shape) {
      const entity = await makeEntity(administration, shape);
      made.push(entity);
      return entity;
    },
    failNext: () => assert.fail(REMOTE_CANNOT),
    async act(act, entity) {
      if (act !== "redrive by hand") await refuse();
      const [clients] = pairs;
      assert.ok(clients !== undefined && (await redriveByHand(clients, entity)) > 0, "there was nothing to redrive");
    },
    stop: refuse,
    start: refuse,
    async close() {
      await closeAll(pairs);
      for (const entity of made) {
        if ("queue" in entity) await administration.deleteQueue(entity.queue);
        else await administration.deleteTopic(entity.topic);
      }
    },
  };
}

/** The SDK asks for entities by HTTPS only, and on the port of AMQP; the emulator takes neither. */
function createAdministration(connectionString: string): ServiceBusAdministrationClient {
  const client = new ServiceBusAdministrationClient(connectionString);
  if (!/;UseDevelopmentEmulator=true/.test(connectionString)) return client;
  const port = process.env["SERVICEBUS_EMULATOR_HTTP_PORT"] ?? EMULATOR_HTTP_PORT;
  client.pipeline.addPolicy({
    name: "emulator",
    sendRequest(request, next) {
      const url = new URL(request.url);
      url.protocol = "http:";
      url.port = port;
      request.url = url.href;
      request.allowInsecureConnection = true;
      return next(request);
    },
  });
  return client;
}

async function makeEntity(
  administration: ServiceBusAdministrationClient,
  shape: EntityShape,
): Promise<ServicebusEntity> {
  const { name, kind, sessions, lockMs, maxDeliveries, duplicateWindowMs } = shape;
  const settings = {
    lockDuration: isoSeconds(lockMs),
    maxDeliveryCount: maxDeliveries,
    requiresSession: sessions,
  };
  const duplicates =
    duplicateWindowMs === undefined
      ? {}
      : { requiresDuplicateDetection: true, duplicateDetectionHistoryTimeWindow: isoSeconds(duplicateWindowMs) };
  if (kind === "queue") {
    await administration.createQueue(name, { ...settings, ...duplicates });
    return { queue: name };
  }
  await administration.createTopic(name, duplicates);
  await administration.createSubscription(name, SUBSCRIPTION, settings);
  return { topic: name, subscription: SUBSCRIPTION };
}

/** ISO 8601: `PT10S`. */
function isoSeconds(ms: number): string {
  return `PT${ms / 1_000}S`;
}
