import assert from "node:assert/strict";
import { createTimeline } from "@leasehold/core/memory";
import { type Fault, type PubsubOptions, startPubsub } from "@leasehold/emulators";
import type { PubsubClients } from "@leasehold/pubsub";
import type { FaultyVerb, QueueFault } from "../queue/harness.ts";
import { playServer } from "./played-server.ts";
import { closeAll, connected, createPlayedClients } from "./pubsub-clients.ts";
import { ACK_DEADLINE_SECONDS, type PubsubSide, redriveByHand } from "./pubsub-side.ts";

const OPERATIONS: Readonly<Record<FaultyVerb, readonly string[]>> = {
  send: ["Publish"],
  receive: ["Pull"],
  extend: ["ModifyAckDeadline"],
  settle: ["Acknowledge", "ModifyAckDeadline"],
};
const FAULTS: Readonly<Record<QueueFault, Fault>> = {
  throttled: { error: { code: "RESOURCE_EXHAUSTED" } },
  "request lost": { drop: "before" },
  "answer lost": { drop: "after" },
};
const RIGHT_TOKEN = "right";

/** The embedded server on a clock that the cases move, behind real sockets. */
export async function embeddedSide(options: PubsubOptions): Promise<PubsubSide> {
  const timeline = createTimeline();
  const played = playServer(timeline);
  const server = await startPubsub({ ...options, clock: timeline.clock(), accessKeyId: RIGHT_TOKEN });
  const { projectId: project } = server;
  const sets: PubsubClients[] = [];

  function connect(token = RIGHT_TOKEN): PubsubClients {
    const set = createPlayedClients({ endpoint: server.endpoint, project, clock: timeline.clock(), token });
    sets.push(set);
    return set;
  }

  return {
    has: new Set(["time", "faults", "restart", "credentials", "shortLease"]),
    minLeaseMs: ACK_DEADLINE_SECONDS * 1_000,
    toleranceMs: 0,
    cannot: {},
    project,
    isShared: false,
    time: { clock: timeline.clock() },
    wait: played.wait,
    until: played.until,
    connect,
    failNext(verb, fault) {
      server.faults.add({ ...FAULTS[fault], when: (call) => OPERATIONS[verb].includes(call.operation) });
    },
    async act(act, queue, messageId) {
      const done =
        act === "redrive by hand"
          ? (await redriveByHand(connect(), project, queue)) > 0
          : server.acts(queue.subscription)[act](messageId);
      assert.ok(done, `the server had nothing to ${act}`);
    },
    stop: server.pause,
    async start() {
      await server.resume();
      await connected(sets);
    },
    async close() {
      await closeAll(sets);
      await server.stop();
      played.end();
    },
  };
}
