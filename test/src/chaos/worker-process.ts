/**
 * A worker of the chaos run, as a process of its own. What it needs comes as JSON in `CHAOS_WORKER`: see {@link WorkerOrder}. It
 * ends with its parent, and in order on SIGTERM.
 */
import { createWorker } from "@leasehold/core";
import { type Clock, systemClock } from "@leasehold/core/driver";
import { createDynamoStore } from "@leasehold/dynamodb";
import type { WorkerOrder } from "./fleet.ts";
import { awsConfigOf, SETTINGS } from "./ground.ts";
import { providers } from "./providers.ts";
import { createTasks } from "./tasks.ts";

const order = JSON.parse(process.env["CHAOS_WORKER"] ?? "{}") as WorkerOrder;

/** The clocks of two machines differ; durations do not. */
const clock: Clock = { ...systemClock, now: () => systemClock.now() + order.clockOffsetMs };
const provider = providers[order.provider];
if (provider === undefined) throw new Error(`there is no provider ${order.provider}`);
const queue = provider.openQueue(order.queuePort);
const store = createDynamoStore({ table: SETTINGS.name, config: awsConfigOf(order.storePort), clock });
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
process.once("disconnect", () => stopping.abort());

const worker = createWorker({
  queue,
  store,
  tasks: createTasks(`http://127.0.0.1:${order.outsidePort}`),
  name: order.name,
  concurrency: 8,
  maxClockSkew: SETTINGS.maxClockSkewMs,
  recoverAfter: SETTINGS.recoverAfterMs,
  stop: "5s",
  clock,
});
process.send?.("ready");
try {
  await worker.run({ signal: stopping.signal });
} finally {
  await queue.close();
  await store.close();
  if (process.connected) process.disconnect();
}
// Of calls whose connection was lost an SDK may keep timers, for up to a minute.
process.exit();
