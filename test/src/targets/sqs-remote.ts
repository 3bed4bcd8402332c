import assert from "node:assert/strict";
import { createClients, type SqsClients } from "@leasehold/sqs";
import { awsConfig } from "./aws.ts";
import type { SqsSide } from "./sqs-side.ts";

/** What a case cannot ask of a server that it does not own. */
const REMOTE_CANNOT = "this server is not ours: nothing can be done to it";

const REMOTE_LAG = "counts of messages lag behind, by up to a minute";

/** A server somewhere else, or the account that the environment names; in real time, and nothing is done to it. */
export function remoteSide(endpoint: string): SqsSide {
  const pairs: SqsClients[] = [];
  const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const refuse = async (): Promise<never> => {
    throw new Error(REMOTE_CANNOT);
  };
  return {
    has: new Set(["shortLease"]),
    minLeaseMs: 10_000,
    toleranceMs: 2_000,
    cannot: { expire: REMOTE_CANNOT, duplicate: REMOTE_CANNOT, "redrive by hand": REMOTE_CANNOT, count: REMOTE_LAG },
    time: {},
    isShared: true,
    wait,
    until: (call) => call,
    connect() {
      const pair = createClients(awsConfig(endpoint));
      pairs.push(pair);
      return pair;
    },
    failNext: () => assert.fail(REMOTE_CANNOT),
    act: refuse,
    stop: refuse,
    start: refuse,
    async close() {
      for (const { poll, control } of pairs) for (const client of [poll, control]) client.destroy();
    },
  };
}
