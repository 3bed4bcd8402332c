import { openQueue } from "@leasehold/core";
import { startSqs } from "@leasehold/emulators";
import { awsConfig, awsEnvironment } from "./aws.ts";
import { NOWHERE, QUEUE, type QueueServer } from "./queue-server.ts";

const urlOf = (name: string): string => `sqs://${name}`;

export async function startSqsServer(): Promise<QueueServer> {
  const sqs = await startSqs();
  const client = awsConfig(sqs.endpoint);
  for (const name of [QUEUE, NOWHERE]) sqs.createQueue(name);
  const [queue, nowhere] = [await openQueue(urlOf(QUEUE), { client }), await openQueue(urlOf(NOWHERE), { client })];
  return {
    environment: { QUEUE_URL: urlOf(QUEUE), AWS_ENDPOINT_URL_SQS: sqs.endpoint, ...awsEnvironment },
    queue,
    nowhere,
    doubleMessage: (messageId) => sqs.acts(QUEUE).duplicate(messageId),
    async stop() {
      await queue.close();
      await nowhere.close();
      await sqs.stop();
    },
  };
}
