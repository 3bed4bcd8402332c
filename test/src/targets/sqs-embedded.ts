import assert from "node:assert/strict";
import { StartMessageMoveTaskCommand } from "@aws-sdk/client-sqs";
import { createTimeline } from "@leasehold/core/memory";
import { type Fault, type SqsOptions, startSqs } from "@leasehold/emulators";
import { createClients, type SqsClients } from "@leasehold/sqs";
import type { FaultyVerb, QueueFault } from "../queue/harness.ts";
import { playServer } from "./played-server.ts";
import { arnOf, type SqsSide } from "./sqs-side.ts";

const OPERATIONS: Readonly<Record<FaultyVerb, readonly string[]>> = {
  send: ["SendMessageBatch"],
  receive: ["ReceiveMessage"],
  extend: ["ChangeMessageVisibilityBatch"],
  settle: ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"],
};
const FAULTS: Readonly<Record<QueueFault, Fault>> = {
  throttled: { error: { code: "RequestThrottled" } },
  "request lost": { drop: "before" },
  "answer lost": { drop: "after" },
};
/** A move of dead letters has its own pace. */
const MOVE_MS = 1_000;
const RIGHT_KEY = "right";

/** The embedded server on a clock that the cases move, behind real sockets. */
export async function embeddedSide(options: SqsOptions): Promise<SqsSide> {
  const timeline = createTimeline();
  const played = playServer(timeline);
  const server = await startSqs({ ...options, clock: timeline.clock(), accessKeyId: RIGHT_KEY });
  const pairs: SqsClients[] = [];

  function connect(accessKeyId = RIGHT_KEY): SqsClients {
    const credentials = { accessKeyId, secretAccessKey: "secret" };
    const pair = createClients({ endpoint: server.endpoint, region: "us-east-1", credentials });
    pairs.push(pair);
    return pair;
  }

  return {
    has: new Set(["time", "faults", "restart", "credentials", "shortLease"]),
    minLeaseMs: 1_000,
    toleranceMs: 0,
    cannot: {},
    isShared: false,
    time: { clock: timeline.clock() },
    wait: played.wait,
    until: played.until,
    connect,
    failNext(verb, fault) {
      server.faults.add({ ...FAULTS[fault], when: (call) => OPERATIONS[verb].includes(call.operation) });
    },
    async act(act, { queueUrl, deadLetterUrl = "" }, messageId) {
      if (act === "redrive by hand") {
        const { control } = connect();
        const move = { SourceArn: await arnOf(control, deadLetterUrl), DestinationArn: await arnOf(control, queueUrl) };
        await control.send(new StartMessageMoveTaskCommand(move));
        await played.wait(MOVE_MS);
      } else assert.ok(server.acts(queueUrl)[act](messageId), `the server had nothing to ${act}`);
    },
    stop: server.pause,
    start: server.resume,
    async close() {
      for (const { poll, control } of pairs) for (const client of [poll, control]) client.destroy();
      await server.stop();
      played.end();
    },
  };
}
