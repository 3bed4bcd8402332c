import assert from "node:assert/strict";
import { createTimeline } from "@leasehold/core/memory";
import { type Fault, type ServicebusEmulator, type ServicebusOptions, startServicebus } from "@leasehold/emulators";
import { createClients, type ServicebusClients } from "@leasehold/servicebus";
import type { FaultyVerb, QueueFault } from "../queue/harness.ts";
import { playServer } from "./played-server.ts";
import {
  closeAll,
  type EntityShape,
  pathOf,
  redriveByHand,
  type ServicebusEntity,
  type ServicebusSide,
  SUBSCRIPTION,
} from "./servicebus-side.ts";

const OPERATIONS: Readonly<Record<FaultyVerb, readonly string[]>> = {
  send: ["Send"],
  receive: ["Receive"],
  extend: ["RenewLock", "RenewSessionLock"],
  settle: ["Complete", "Abandon", "DeadLetter"],
};
const FAULTS: Readonly<Record<QueueFault, Fault>> = {
  throttled: { error: { code: "com.microsoft:server-busy" } },
  "request lost": { drop: "before" },
  "answer lost": { drop: "after" },
};
const RIGHT_KEY = "right";
/** As every entity has it unless it says otherwise (SB-02). */
const LOCK_MS = 60_000;
/** Of a call, ms of real time: so long that a slow machine ends none. */
const PATIENCE_MS = 120_000;

/** The embedded server on a clock that the cases move, behind real sockets. */
export async function embeddedSide(options: ServicebusOptions = {}): Promise<ServicebusSide> {
  const timeline = createTimeline();
  const played = playServer(timeline);
  const server = await startServicebus({ ...options, clock: timeline.clock(), accessKeyId: RIGHT_KEY });
  const pairs: ServicebusClients[] = [];

  function connect(keyName = RIGHT_KEY): ServicebusClients {
    const connectionString = `Endpoint=${server.endpoint};SharedAccessKeyName=${keyName};SharedAccessKey=key;UseDevelopmentEmulator=true`;
    const pair = createClients({ connectionString, timeoutMs: PATIENCE_MS });
    pairs.push(pair);
    return pair;
  }

  return {
    has: new Set(["time", "faults", "restart", "credentials", "shortLease"]),
    minLeaseMs: LOCK_MS,
    toleranceMs: 0,
    cannot: {},
    time: { clock: timeline.clock() },
    wait: played.wait,
    until: played.until,
    connect,
    make: async (shape) => makeEntity(server, shape),
    failNext(verb, fault) {
      server.faults.add({ ...FAULTS[fault], when: (call) => OPERATIONS[verb].includes(call.operation) });
    },
    async act(act, entity, messageId) {
      const done =
        act === "redrive by hand"
          ? (await redriveByHand(connect(), entity)) > 0
          : server.acts(pathOf(entity))[act](messageId);
      assert.ok(done, `the server had nothing to ${act}`);
    },
    stop: server.pause,
    start: server.resume,
    async close() {
      await closeAll(pairs);
      await server.stop();
      played.end();
    },
  };
}

function makeEntity(server: ServicebusEmulator, shape: EntityShape): ServicebusEntity {
  const { name, kind, sessions, lockMs, maxDeliveries, duplicateWindowMs } = shape;
  const settings = { lockDurationMs: lockMs, maxDeliveryCount: maxDeliveries, requiresSession: sessions };
  const duplicates = duplicateWindowMs === undefined ? {} : { duplicateDetectionWindowMs: duplicateWindowMs };
  if (kind === "queue") {
    server.createQueue(name, { ...settings, ...duplicates });
    return { queue: name };
  }
  server.createTopic(name, duplicates);
  server.createSubscription(name, SUBSCRIPTION, settings);
  return { topic: name, subscription: SUBSCRIPTION };
}
