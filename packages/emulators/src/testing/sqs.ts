/** What the tests of the SQS server share: a server on a clock that they move, and the vendor's client. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  type QueueAttributeName,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageCommand,
  type SendMessageCommandInput,
  SQSClient,
  type SQSClientConfig,
} from "@aws-sdk/client-sqs";
import { createHandClock, type HandClock } from "../hand-clock.ts";
import type { QueueAttributes } from "../sqs/queue-attributes.ts";
import { type SqsEmulator, type SqsOptions, startSqs } from "../sqs/start.ts";

export interface Fixture {
  readonly sqs: SqsEmulator;
  readonly clock: HandClock;
  readonly client: SQSClient;
  /** A queue of its own. */
  queue(attributes?: QueueAttributes, name?: string): QueueFixture;
}

/** Shorthands for one queue. */
export interface QueueFixture {
  readonly url: string;
  readonly arn: string;
  send(body: string, more?: Partial<SendMessageCommandInput>): Promise<string>;
  receive(more?: Partial<ReceiveMessageCommandInput>): Promise<readonly Message[]>;
  /** Receives exactly one. */
  one(more?: Partial<ReceiveMessageCommandInput>): Promise<Message & { readonly ReceiptHandle: string }>;
  bodies(more?: Partial<ReceiveMessageCommandInput>): Promise<readonly (string | undefined)[]>;
  change(receiptHandle: string | undefined, seconds: number): Promise<unknown>;
  remove(receiptHandle: string | undefined): Promise<unknown>;
  attribute(name: QueueAttributeName): Promise<string | undefined>;
}

export const credentials = { accessKeyId: "right", secretAccessKey: "secret" };

export async function openSqs(
  test: TestContext,
  options: SqsOptions = {},
  config: SQSClientConfig = {},
): Promise<Fixture> {
  const clock = createHandClock();
  const sqs = await startSqs({ clock, ...options });
  const client = new SQSClient({ endpoint: sqs.endpoint, region: "us-east-1", credentials, maxAttempts: 1, ...config });
  test.after(async () => {
    client.destroy();
    await sqs.stop();
  });
  let queues = 0;
  return {
    sqs,
    clock,
    client,
    queue: (attributes = {}, name = `queue-${++queues}${attributes["FifoQueue"] === "true" ? ".fifo" : ""}`) =>
      fixtureOf(client, sqs.createQueue(name, attributes), name),
  };
}

function fixtureOf(client: SQSClient, url: string, name: string): QueueFixture {
  const receive = async (more: Partial<ReceiveMessageCommandInput> = {}): Promise<readonly Message[]> => {
    const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl: url, ...more }));
    return Messages ?? [];
  };
  return {
    url,
    arn: `arn:aws:sqs:us-east-1:000000000000:${name}`,
    async send(body, more = {}) {
      const { MessageId } = await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, ...more }));
      return MessageId as string;
    },
    receive,
    async one(more) {
      const messages = await receive(more);
      assert.equal(messages.length, 1);
      return messages[0] as Message & { readonly ReceiptHandle: string };
    },
    bodies: async (more) => (await receive(more)).map((message) => message.Body),
    change: (receiptHandle, seconds) =>
      client.send(
        new ChangeMessageVisibilityCommand({ QueueUrl: url, ReceiptHandle: receiptHandle, VisibilityTimeout: seconds }),
      ),
    remove: (receiptHandle) => client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: receiptHandle })),
    async attribute(name) {
      const { Attributes } = await client.send(
        new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: [name] }),
      );
      return Attributes?.[name];
    },
  };
}

/** Resolves once the condition holds; what it waits for comes over a socket, so the event loop gets its turns. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
