import { openQueue } from "@leasehold/core";
import { startPubsub } from "@leasehold/emulators";
import { NOWHERE, QUEUE, type QueueServer } from "./queue-server.ts";

const PROJECT = "local";
const urlOf = (name: string): string => `pubsub://${PROJECT}/${name}/${name}`;

export async function startPubsubServer(): Promise<QueueServer> {
  const pubsub = await startPubsub({ projectId: PROJECT });
  const client = { apiEndpoint: pubsub.endpoint, emulatorMode: true };
  for (const name of [QUEUE, NOWHERE]) pubsub.createSubscription(name, { topic: pubsub.createTopic(name) });
  const [queue, nowhere] = [await openQueue(urlOf(QUEUE), { client }), await openQueue(urlOf(NOWHERE), { client })];
  return {
    environment: { QUEUE_URL: urlOf(QUEUE), PUBSUB_EMULATOR_HOST: pubsub.endpoint },
    queue,
    nowhere,
    doubleMessage: (messageId) => pubsub.acts(QUEUE).duplicate(messageId),
    async stop() {
      await queue.close();
      await nowhere.close();
      await pubsub.stop();
    },
  };
}
