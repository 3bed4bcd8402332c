import assert from "node:assert/strict";
import { test } from "node:test";
import { connectClients, createClients } from "./client.ts";
import { openQueue } from "./open.ts";
import { createPubsubQueue } from "./queue.ts";

const QUEUE = { project: "my-project", topic: "orders", subscription: "orders" } as const;

/** What the generated clients were made with; it has no name in their types. */
function madeWith(client: object): Readonly<Record<string, unknown>> {
  return (client as { readonly _opts: Readonly<Record<string, unknown>> })._opts;
}

test("no channel repeats anything, and no two share a connection", async () => {
  const careless = { "grpc.enable_retries": 1, "grpc.use_local_subchannel_pool": 0, "grpc.keepalive_time_ms": 60_000 };
  const clients = createClients({ projectId: "my-project", apiEndpoint: "127.0.0.1:1", ...careless });
  for (const client of Object.values(clients)) {
    const options = madeWith(client);
    assert.equal(options["grpc.enable_retries"], 0);
    assert.equal(options["grpc.service_config_disable_resolution"], 1);
    assert.equal(options["grpc.use_local_subchannel_pool"], 1);
    assert.equal(options["grpc.keepalive_time_ms"], 60_000, "what cannot do harm is for configuration");
    await client.close();
  }
  assert.equal(new Set(Object.values(clients)).size, 3);
});

test("the environment names an emulator where the configuration names no endpoint", async (context) => {
  const { PUBSUB_EMULATOR_HOST: kept } = process.env;
  process.env["PUBSUB_EMULATOR_HOST"] = "127.0.0.1:8085";
  context.after(() => {
    delete process.env["PUBSUB_EMULATOR_HOST"];
    if (kept !== undefined) process.env["PUBSUB_EMULATOR_HOST"] = kept;
  });
  const place = (client: object) => {
    const { servicePath, port, sslCreds } = madeWith(client);
    return [servicePath, port, sslCreds !== undefined];
  };
  assert.deepEqual(place(createClients({ projectId: "my-project" }).control), ["127.0.0.1", 8085, true]);
  const given = createClients({ projectId: "my-project", apiEndpoint: "europe-west1-pubsub.googleapis.com:443" });
  assert.deepEqual(place(given.control), ["europe-west1-pubsub.googleapis.com", 443, false]);
});

test("two answers to one question are refused; clients that were given are not closed", async () => {
  const clients = createClients({ projectId: "my-project", apiEndpoint: "127.0.0.1:1" });
  assert.throws(() => createPubsubQueue({ ...QUEUE, clients, client: {} }), {
    code: "InvalidArgument",
    message: /^client:/,
  });
  const { release, ...connected } = connectClients({ clients });
  assert.deepEqual(connected, clients);
  await clients.control.initialize();
  await release();
  assert.notEqual(clients.control.subscriberStub, undefined);
  for (const client of Object.values(clients)) await client.close();
});

test("names that cannot be are refused before anything is asked", async () => {
  const client = { apiEndpoint: "127.0.0.1:1" };
  const refused = (options: object) =>
    assert.throws(() => createPubsubQueue({ ...QUEUE, client, ...options }), { code: "InvalidArgument" });
  for (const topic of ["", "a", "1abc", "no spaces", "projects/x/topics/", "projects/x/subscriptions/orders", "a/b"]) {
    refused({ topic });
    refused({ subscription: topic === "projects/x/subscriptions/orders" ? "projects/x/topics/orders" : topic });
  }
  refused({ project: "no spaces" });
  refused({ deadLetterTopic: "a" });
  refused({ deadLetterTopic: "dead", deadLetterSubscription: "a" });
  refused({ deadLetterTopic: "projects/my-project/topics/orders" });
  const url = { code: "InvalidArgument", message: /^url/ };
  for (const text of ["pubsub://orders", "pubsub://my-project/orders", "sqs://a/b/c", "pubsub://a/b/c/d"]) {
    await assert.rejects(openQueue(text), url, text);
  }
});

test("a queue is named by its subscription, also by a full name", async () => {
  const client = { apiEndpoint: "127.0.0.1:1" };
  const full = { topic: "projects/other/topics/orders", subscription: "projects/other/subscriptions/orders-eu" };
  const driver = createPubsubQueue({ ...QUEUE, ...full, client });
  assert.equal(driver.queue, "orders-eu");
  await driver.close();
});
