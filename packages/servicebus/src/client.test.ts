import assert from "node:assert/strict";
import { test } from "node:test";
import { connectClients, createClients } from "./client.ts";
import { openQueue } from "./open.ts";
import { createServicebusQueue } from "./queue.ts";

const connectionString =
  "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=n;SharedAccessKey=secret;UseDevelopmentEmulator=true";
const credential = { getToken: async () => ({ token: "t", expiresOnTimestamp: Number.MAX_SAFE_INTEGER }) };

test("two clients are made, by connection string or by namespace and credential", async () => {
  for (const config of [{ connectionString }, { namespace: "shop.servicebus.windows.net", credential }]) {
    const { poll, control } = createClients(config);
    assert.notEqual(poll, control);
    for (const client of [poll, control]) await client.close();
  }
});

test("a configuration that names no namespace is refused, and its key is not shown", () => {
  for (const config of [{}, { namespace: "shop" }, { credential }, { connectionString: "SharedAccessKey=secret" }]) {
    assert.throws(() => createClients(config), { code: "InvalidArgument", message: /^client: (?!.*secret)/ });
  }
  assert.throws(() => connectClients({}), { code: "InvalidArgument", message: /^client: expected/ });
});

test("a pair that is given is used, and left to whoever made it", async () => {
  const clients = createClients({ connectionString });
  assert.throws(() => connectClients({ clients, client: { connectionString } }), { code: "InvalidArgument" });
  const driver = createServicebusQueue({ queue: "orders", clients });
  await driver.close();
  assert.doesNotThrow(() => clients.control.createSender("orders"));
  for (const client of Object.values(clients)) await client.close();
});

test("what is no entity, and what no entity has, is refused before a client is made", () => {
  const bad: readonly (readonly [object, RegExp])[] = [
    [{}, /^topic/],
    [{ queue: "" }, /^queue/],
    [{ queue: "no spaces" }, /^queue/],
    [{ queue: "q", topic: "t" }, /^queue/],
    [{ topic: "t" }, /^subscription/],
    [{ topic: "t", subscription: "a/b" }, /^subscription/],
    [{ queue: "q", lockMs: 0 }, /^lockMs/],
    [{ queue: "q", lockMs: 300_001 }, /^lockMs/],
    [{ queue: "q", lockMs: Number.NaN }, /^lockMs/],
    [{ queue: "q", maxMessageBytes: 1 }, /^maxMessageBytes/],
  ];
  for (const [options, message] of bad) {
    assert.throws(() => createServicebusQueue({ ...options, client: { connectionString } }), {
      code: "InvalidArgument",
      message,
    });
  }
});

test("a URL names a namespace and a queue, or a topic and a subscription", async () => {
  for (const url of ["memory://orders", "servicebus://orders", "servicebus://a/b/c/d", "servicebus://a b/c"]) {
    await assert.rejects(openQueue(url), { code: "InvalidArgument", message: /^url/ }, url);
  }
  const before = process.env["SERVICEBUS_CONNECTION_STRING"];
  delete process.env["SERVICEBUS_CONNECTION_STRING"];
  try {
    await assert.rejects(openQueue("servicebus://shop/orders"), {
      code: "InvalidArgument",
      message: /SERVICEBUS_CONNECTION_STRING/,
    });
  } finally {
    if (before !== undefined) process.env["SERVICEBUS_CONNECTION_STRING"] = before;
  }
});
