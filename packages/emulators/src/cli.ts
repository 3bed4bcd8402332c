#!/usr/bin/env node
/**
 * Starts all emulators and says how to reach them, until it is told to end.
 *
 *     leasehold-emulators [--sqs-port 4100] [--dynamodb-port 4101] [--pubsub-port 8085] [--servicebus-port 5672]
 *         [--queue jobs]... [--json]
 *
 * `--queue` makes a queue on SQS and on Service Bus (FIFO there, with sessions here, if its name ends in `.fifo`), and on Pub/Sub a
 * topic with a subscription of that name (ordered). `--json` prints one line for a program to read instead.
 */
import { parseArgs } from "node:util";
import { startDynamodb } from "./dynamodb/start.ts";
import { startPubsub } from "./pubsub/start.ts";
import { startServicebus } from "./servicebus/start.ts";
import { startSqs } from "./sqs/start.ts";

const { values } = parseArgs({
  options: {
    "sqs-port": { type: "string", default: "0" },
    "dynamodb-port": { type: "string", default: "0" },
    "pubsub-port": { type: "string", default: "0" },
    "servicebus-port": { type: "string", default: "0" },
    queue: { type: "string", multiple: true, default: ["jobs"] },
    json: { type: "boolean", default: false },
  },
});

const sqs = await startSqs({ port: Number(values["sqs-port"]) });
const dynamodb = await startDynamodb({ port: Number(values["dynamodb-port"]) });
const pubsub = await startPubsub({ port: Number(values["pubsub-port"]) });
const servicebus = await startServicebus({ port: Number(values["servicebus-port"]) });
for (const name of values.queue) {
  servicebus.createQueue(name, { requiresSession: name.endsWith(".fifo") });
  pubsub.createSubscription(name, { topic: pubsub.createTopic(name), enableMessageOrdering: name.endsWith(".fifo") });
}
const queues = Object.fromEntries(values.queue.map((name) => [name, sqs.createQueue(name)]));

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

if (values.json) {
  print(
    JSON.stringify({
      sqs: sqs.endpoint,
      dynamodb: dynamodb.endpoint,
      pubsub: pubsub.endpoint,
      servicebus: servicebus.connectionString,
      queues,
    }),
  );
} else {
  const [queueUrl = `${sqs.endpoint}/000000000000/jobs`] = Object.values(queues);
  print(`SQS          ${sqs.endpoint}
DynamoDB     ${dynamodb.endpoint}
Pub/Sub      ${pubsub.endpoint}
Service Bus  ${servicebus.endpoint}

Any AWS SDK finds them through its environment:

  export AWS_ENDPOINT_URL_SQS=${sqs.endpoint}
  export AWS_ENDPOINT_URL_DYNAMODB=${dynamodb.endpoint}
  export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local

The SDKs of Google Cloud find Pub/Sub likewise; the project is "${pubsub.projectId}":

  export PUBSUB_EMULATOR_HOST=${pubsub.endpoint} PUBSUB_PROJECT_ID=${pubsub.projectId}

The SDKs of Service Bus take a connection string:

  export SERVICEBUS_CONNECTION_STRING='${servicebus.connectionString}'

Without an SDK, in any language that can post JSON:

  curl -s ${sqs.endpoint} -H 'x-amz-target: AmazonSQS.SendMessage' \\
    -d '{"QueueUrl": "${queueUrl}", "MessageBody": "hello"}'
  curl -s ${sqs.endpoint} -H 'x-amz-target: AmazonSQS.ReceiveMessage' \\
    -d '{"QueueUrl": "${queueUrl}", "WaitTimeSeconds": 20}'

Ctrl-C ends them; nothing is kept.`);
}

const stop = (): void => {
  Promise.all([sqs, dynamodb, pubsub, servicebus].map((server) => server.stop())).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
};
process.once("SIGINT", stop);
process.once("SIGTERM", stop);
