import assert from "node:assert/strict";
import { createTimeline } from "@leasehold/core/memory";
import { type Fault, type ServicebusEmulator, type ServicebusOptions, startServicebus } from "@leasehold/emulators";
import { createClients, type ServicebusClients } from "@leasehold/servicebus";
import type { FaultyVerb, QueueFault } from "../queue/harness.ts";
import { type PlayedServer, playServer } from "./played-server.ts";
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
  // A driver of sessions looks at what is there before it opens one.
  receive: ["Receive", "PeekMessage"],
  extend: ["RenewLock", "RenewSessionLock"],
  settle: ["Complete", "Abandon", "DeadLetter"],
};
const FAULTS: Readonly<Record<QueueFault, Fault>> = {
  throttled: { error: { code: "com.microsoft:server-busy" } },
  "request lost": { drop: "before" },
  "answer lost": { drop: "after" },
};
const RIGHT_KEY = "right";
/** The SDK sleeps for 1 ms before it says that there is no session. */
export const PAUSE_MS = 2;
/** As every entity has it unless it says otherwise (SB-02). */
const LOCK_MS = 60_000;
/** The server lets nobody wait longer for a session, ms of its own time. */
const SESSION_WAIT_MS = 61_000;
/** When a token ends that does not, in seconds since the epoch: in the year 2100. */
const LATE_SECONDS = 4_102_444_800;

/** The embedded server on a clock that the cases move, behind real sockets. */
export async function embeddedSide(options: ServicebusOptions = {}): Promise<ServicebusSide> {
  const timeline = createTimeline();
  const played = playServer(timeline, { pauseMs: PAUSE_MS });
  const server = await startServicebus({ ...options, clock: timeline.clock(), accessKeyId: RIGHT_KEY });
  const pairs: ServicebusClients[] = [];

  function connect(keyName = RIGHT_KEY): ServicebusClients {
    const pair = createPlayedClients(server, keyName);
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
      await closePlayed(pairs, played);
      await server.stop();
      played.end();
    },
  };
}

/**
 * Clients that show a signature which is made already: the SDK makes its own in another thread, where played time cannot see
 * that something is under way.
 */
export function createPlayedClients({ endpoint }: ServicebusEmulator, keyName = RIGHT_KEY): ServicebusClients {
  const signature = `sr=${encodeURIComponent(endpoint)}&sig=none&se=${LATE_SECONDS}&skn=${keyName}`;
  return createClients({
    connectionString: `Endpoint=${endpoint};SharedAccessSignature=SharedAccessSignature ${signature};UseDevelopmentEmulator=true`,
  });
}

/** Lets a wait for a session end first: the SDK keeps a timer for it, which an orderly end of the connection does not stop. */
export async function closePlayed(pairs: readonly ServicebusClients[], played: PlayedServer): Promise<void> {
  await played.wait(SESSION_WAIT_MS);
  await closeAll(pairs);
}

export function makeEntity(server: ServicebusEmulator, shape: EntityShape): ServicebusEntity {
  const { name, kind, sessions, lockMs, maxDeliveries, duplicateWindowMs, keepMs, maxMessageBytes } = shape;
  const settings = {
    lockDurationMs: lockMs,
    maxDeliveryCount: maxDeliveries,
    requiresSession: sessions,
    ...(keepMs !== undefined && { defaultTimeToLiveMs: keepMs }),
  };
  const common = {
    ...(duplicateWindowMs !== undefined && { duplicateDetectionWindowMs: duplicateWindowMs }),
    ...(maxMessageBytes !== undefined && { maxMessageBytes }),
  };
  if (kind === "queue") {
    server.createQueue(name, { ...settings, ...common });
    return { queue: name };
  }
  server.createTopic(name, common);
  server.createSubscription(name, SUBSCRIPTION, settings);
  return { topic: name, subscription: SUBSCRIPTION };
}
