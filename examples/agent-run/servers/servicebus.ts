import { openQueue } from "@leasehold/core";
import { startServicebus } from "@leasehold/emulators";
import { NOWHERE, QUEUE, type QueueServer } from "./queue-server.ts";

const NAMESPACE = "local";
const urlOf = (name: string): string => `servicebus://${NAMESPACE}/${name}`;
/** A fact of the queue that no client can choose; the usual 60 s would keep what a dead worker had for longer than the demo lasts. */
const LOCK_MS = 5_000;

export async function startServicebusServer(): Promise<QueueServer> {
  const servicebus = await startServicebus();
  const client = { connectionString: servicebus.connectionString };
  for (const name of [QUEUE, NOWHERE]) servicebus.createQueue(name, { lockDurationMs: LOCK_MS });
  const [queue, nowhere] = [await openQueue(urlOf(QUEUE), { client }), await openQueue(urlOf(NOWHERE), { client })];
  return {
    environment: { QUEUE_URL: urlOf(QUEUE), SERVICEBUS_CONNECTION_STRING: servicebus.connectionString },
    queue,
    nowhere,
    doubleMessage: (messageId) => servicebus.acts(QUEUE).duplicate(messageId),
    async stop() {
      await queue.close();
      await nowhere.close();
      await servicebus.stop();
    },
  };
}
