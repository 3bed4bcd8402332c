import assert from "node:assert/strict";
import { test } from "node:test";
import { connectClients, createClients } from "./client.ts";
import { openQueue } from "./open.ts";
import { createSqsQueue } from "./queue.ts";

const CREDENTIALS = { accessKeyId: "key", secretAccessKey: "secret" };

async function placeOf(queueUrl: string, client = {}): Promise<{ region: string; host: string | undefined }> {
  const { control, release } = connectClients(
    { client: { region: "eu-north-1", credentials: CREDENTIALS, ...client } },
    queueUrl,
  );
  const region = await control.config.region();
  const host = (await control.config.endpoint?.())?.hostname;
  release();
  return { region, host };
}

test("neither client repeats anything or judges sums (SQS-27, SQS-30)", async () => {
  const { poll, control } = createClients({ region: "eu-north-1", credentials: CREDENTIALS });
  assert.notEqual(poll, control);
  for (const client of [poll, control]) {
    assert.equal(await client.config.maxAttempts(), 1);
    assert.equal(client.config.md5, false);
    client.destroy();
  }
});

test("endpoint and region follow from the URL where the configuration does not name them", async () => {
  const { control, release } = connectClients(
    { client: { credentials: CREDENTIALS } },
    "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
  );
  assert.equal(await control.config.region(), "eu-west-1");
  assert.equal((await control.config.endpoint?.())?.hostname, "sqs.eu-west-1.amazonaws.com");
  release();
  assert.deepEqual(await placeOf("http://localhost:4566/000000000000/orders"), {
    region: "eu-north-1",
    host: "localhost",
  });
  const given = { endpoint: "http://proxy:1" };
  assert.equal((await placeOf("http://localhost:4566/000000000000/orders", given)).host, "proxy");
});

test("a pair that would lose messages is refused, and so are two answers to one question", () => {
  const { poll, control } = createClients({ region: "eu-north-1", credentials: CREDENTIALS });
  const queueUrl = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";
  assert.equal(createSqsQueue({ queueUrl, clients: { poll, control } }).queue, "orders");
  const both = { queueUrl, clients: { poll, control }, client: {} };
  assert.throws(() => createSqsQueue(both), { code: "InvalidArgument", message: /^client:/ });
  const careless = Object.assign(Object.create(poll) as typeof poll, { config: { ...poll.config, md5: undefined } });
  const pair = { queueUrl, clients: { poll: careless, control } };
  assert.throws(() => createSqsQueue(pair), { code: "InvalidArgument", message: /^clients\.poll:/ });
  for (const client of [poll, control]) client.destroy();
});

test("what is no URL of a queue is refused before a client is made", async () => {
  for (const queueUrl of ["orders", "https://sqs.eu-west-1.amazonaws.com/", "https://host/1/no spaces", ""]) {
    assert.throws(() => createSqsQueue({ queueUrl }), { code: "InvalidArgument", message: /^queueUrl/ }, queueUrl);
  }
  const queueUrl = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";
  assert.throws(() => createSqsQueue({ queueUrl, deadLetterUrl: "dead" }), { message: /^deadLetterUrl/ });
  await assert.rejects(openQueue("memory://orders"), { code: "InvalidArgument", message: /^url/ });
  await assert.rejects(openQueue("sqs://no/such form"), { code: "InvalidArgument", message: /^url/ });
});
