/**
 * A worker as a process of its own. Queue and store are URLs from its environment, so it runs on each cloud as it runs here:
 *
 *   QUEUE_URL=sqs://agent-run STORE_URL=dynamodb://agent-run SYSTEM_URL=http://127.0.0.1:8080 node worker-process.ts
 *
 * Another queue service is another QUEUE_URL: `pubsub://project/topic/subscription`, `servicebus://namespace/queue`. How to sign in is the affair of
 * the SDKs; `AWS_ENDPOINT_URL_SQS`, `AWS_ENDPOINT_URL_DYNAMODB`, `PUBSUB_EMULATOR_HOST` and `SERVICEBUS_CONNECTION_STRING` lead them to other servers.
 * SIGTERM stops it in order: running handlers finish, or are aborted and given back.
 */
import { createWorker, openQueue, openStore } from "@leasehold/core";
import { createCountingTelemetry } from "./counts.ts";
import { createExternalSystem } from "./external-system.ts";
import { createTasks } from "./handlers.ts";

function required(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw new Error(`${name} is not set; see the head of worker-process.ts`);
}

const name = process.env["WORKER_NAME"] ?? "worker";
const queue = await openQueue(required("QUEUE_URL"));
const store = await openStore(required("STORE_URL"));
const stopping = new AbortController();
for (const event of ["SIGTERM", "SIGINT"]) process.once(event, () => stopping.abort());
// Started by the demo, it ends with it, and tells it what there is to count.
process.once("disconnect", () => stopping.abort());

const worker = createWorker({
  queue,
  store,
  tasks: createTasks(createExternalSystem(required("SYSTEM_URL"), name), Number(process.env["LEASE_MS"] ?? 2_000)),
  name,
  concurrency: 4,
  // For the demo. The defaults, 2 s and 5 min, are for machines that do not share a clock and work that takes longer.
  maxClockSkew: Number(process.env["MAX_CLOCK_SKEW_MS"] ?? 2_000),
  recoverAfter: Number(process.env["RECOVER_AFTER_MS"] ?? 300_000),
  stop: "5s",
  telemetry: createCountingTelemetry((kind, what) => process.send?.({ kind, what })),
});
process.send?.({ ready: true });
try {
  await worker.run({ signal: stopping.signal });
} finally {
  await queue.close();
  await store.close();
  if (process.connected) process.disconnect();
}
// Of calls whose connection was lost an SDK may keep timers, for up to a minute.
process.exit();
