import {
  DeleteMessageBatchCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { createDynamoItems, createTable } from "@leasehold/dynamodb";
import { type Emulator, startDynamodb, startSqs } from "@leasehold/emulators";
import { awsConfigOf } from "../chaos/ground.ts";
import { type ChaosProvider, providers } from "../chaos/providers.ts";

/** A server whose port can be reached by anybody, and what a well-behaved client says to it. */
export interface Front {
  start(): Promise<Emulator>;
  /** A round of the real SDK by way of this port. Rejects when the server does not serve it. */
  converse(port: number): Promise<void>;
}

const NAME = "fuzz";

export const fronts: Readonly<Record<string, Front>> = {
  sqs: {
    async start() {
      const server = await startSqs();
      server.createQueue(NAME);
      return server;
    },
    async converse(port) {
      const client = new SQSClient({ ...awsConfigOf(port), maxAttempts: 1 });
      try {
        await client.send(new GetQueueUrlCommand({ QueueName: NAME }));
        const QueueUrl = `http://127.0.0.1:${port}/000000000000/${NAME}`;
        const Entries = [1, 2, 3].map((number) => ({
          Id: String(number),
          MessageBody: `{"number":${number}}`,
          MessageAttributes: { kind: { DataType: "String", StringValue: "fuzz" } },
        }));
        await client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
        const { Messages = [] } = await client.send(
          new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ["All"] }),
        );
        if (Messages.length === 0) throw new Error("nothing was received");
        await client.send(
          new DeleteMessageBatchCommand({
            QueueUrl,
            Entries: Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle })),
          }),
        );
      } finally {
        client.destroy();
      }
    },
  },
  dynamodb: {
    async start() {
      const server = await startDynamodb();
      await createTable({ table: NAME, config: awsConfigOf(Number(new URL(server.endpoint).port)) });
      return server;
    },
    async converse(port) {
      const items = createDynamoItems({ table: NAME, config: awsConfigOf(port) });
      try {
        await items.put("one", { text: "fuzz", map: { list: [1, null] } }, { absent: "gone" });
        const item = await items.get("one");
        if (item?.["text"] !== "fuzz") throw new Error("the item was not read");
      } finally {
        await items.close();
      }
    },
  },
  pubsub: {
    start: () => startServer("pubsub"),
    converse: (port) => passThrough("pubsub", port),
  },
  servicebus: {
    start: () => startServer("servicebus"),
    converse: (port) => passThrough("servicebus", port),
  },
};

function startServer(name: string): Promise<Emulator> {
  return (providers[name] as ChaosProvider).start();
}

/** One message through the provider's driver. */
async function passThrough(name: string, port: number): Promise<void> {
  const queue = (providers[name] as ChaosProvider).openQueue(port);
  try {
    const [sent] = await queue.send([{ id: "one", body: "{}", contentType: "application/json" }]);
    if (sent?.status !== "confirmed") throw sent?.error ?? new Error("not sent");
    const deliveries = await queue.receive({ max: 5, waitMs: 10_000, leaseMs: 10_000 });
    if (deliveries.length === 0) throw new Error("nothing was received");
    const items = deliveries.map((delivery) => ({ delivery, leaseMs: 20_000 }));
    for (const { status } of await queue.extend(items)) if (status === "failed") throw new Error("not extended");
    await queue.settle(deliveries.map((delivery) => ({ verb: "complete", delivery }) as const));
  } finally {
    await queue.close();
  }
}
