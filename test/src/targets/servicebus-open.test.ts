import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { ServiceBusAdministrationClient } from "@azure/service-bus";
import { openQueue } from "@leasehold/core";
import type { Logger, QueueDriver } from "@leasehold/core/driver";
import { type ServicebusEmulator, startServicebus } from "@leasehold/emulators";
import { openServicebusQueue } from "@leasehold/servicebus";
import { complete, message, send } from "../queue/support.ts";

interface Started {
  readonly emulator: ServicebusEmulator;
  /** Closes it before the server is stopped: a client of the SDK waits long for a server that is gone. */
  kept(driver: QueueDriver): QueueDriver;
}

async function start(context: TestContext): Promise<Started> {
  const emulator = await startServicebus({ accessKeyId: "right" });
  const drivers: QueueDriver[] = [];
  context.after(async () => {
    for (const driver of drivers) await driver.close();
    await emulator.stop();
  });
  return {
    emulator,
    kept(driver) {
      drivers.push(driver);
      return driver;
    },
  };
}

/** One message there and back. */
async function use(driver: QueueDriver): Promise<void> {
  await send(driver, message("one"));
  const [delivery] = await driver.receive({ max: 1, waitMs: 5_000, leaseMs: 60_000 });
  assert.equal(delivery?.body, message("one").body);
  await complete(driver, delivery as NonNullable<typeof delivery>);
}

test("queues and subscriptions are opened by URL, through core as well, and their own clients end with them", async (context) => {
  const { emulator } = await start(context);
  emulator.createQueue("orders");
  emulator.createTopic("events");
  emulator.createSubscription("events", "billing");
  const client = { connectionString: emulator.connectionString };
  for (const [url, queue] of [
    ["servicebus://local/orders", "orders"],
    ["servicebus://local/events/billing", "events/billing"],
  ] as const) {
    const driver = await openQueue(url, { client });
    assert.deepEqual([driver.provider, driver.queue, driver.capabilities.ordering], ["servicebus", queue, false]);
    await use(driver);
    await driver.close();
  }
});

test("the environment may name the way in", async (context) => {
  const { emulator, kept } = await start(context);
  emulator.createQueue("orders");
  process.env["SERVICEBUS_CONNECTION_STRING"] = emulator.connectionString;
  context.after(() => delete process.env["SERVICEBUS_CONNECTION_STRING"]);
  const driver = kept(await openQueue("servicebus://local/orders"));
  await use(driver);
});

test("sessions and the largest message are read when a queue is opened, without a message being touched", async (context) => {
  const { emulator, kept } = await start(context);
  emulator.createQueue("keyed", { requiresSession: true, maxMessageBytes: 1_048_576 });
  const client = { connectionString: emulator.connectionString };
  const driver = kept(await openServicebusQueue({ queue: "keyed", client }));
  assert.equal(driver.capabilities.ordering, true);
  assert.equal(driver.capabilities.maxMessageBytes, 1_048_576 - 1_024);
  await send(driver, message("a", { orderingKey: "k" }));
  const again = kept(await openServicebusQueue({ queue: "keyed", client }));
  const [delivery] = await again.receive({ max: 1, waitMs: 5_000, leaseMs: 60_000 });
  assert.deepEqual([delivery?.orderingKey, delivery?.deliveryCount], ["k", 1]);
});

test("a queue that is not there, and one that is closed to the caller, are told apart", async (context) => {
  const { emulator } = await start(context);
  emulator.createQueue("orders");
  const { connectionString } = emulator;
  await assert.rejects(openServicebusQueue({ queue: "missing", client: { connectionString } }), { code: "NotFound" });
  const wrong = { connectionString: connectionString.replace("KeyName=right", "KeyName=wrong") };
  await assert.rejects(openServicebusQueue({ queue: "orders", client: wrong }), {
    code: "PermissionDenied",
    message: /give sessions/,
  });
});

test("lock and maximum of deliveries are read where the management service may be asked", async (context) => {
  const { emulator, kept } = await start(context);
  emulator.createQueue("orders", { lockDurationMs: 90_000 });
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(200, { "content-type": "application/atom+xml;type=entry;charset=utf-8" });
    response.end(DESCRIPTION);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const administration = new ServiceBusAdministrationClient(
    `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=right;SharedAccessKey=key`,
  );
  // The client knows HTTPS alone.
  administration.pipeline.addPolicy({
    name: "plain",
    sendRequest(request, next) {
      request.url = request.url.replace(/^https:/, "http:");
      request.allowInsecureConnection = true;
      return next(request);
    },
  });
  const warnings: unknown[] = [];
  const logger: Logger = { info() {}, error() {}, warn: (_text, fields) => warnings.push(fields) };
  const client = { connectionString: emulator.connectionString };
  const driver = kept(await openServicebusQueue({ queue: "orders", client, administration, logger }));
  assert.equal(driver.capabilities.fixedLeaseMs, 90_000);
  assert.deepEqual(warnings, [{ queue: "orders", maxDeliveryCount: 10 }]);
  assert.match(asked[0] ?? "", /^\/orders\?/);
});

/** As the service describes a queue, in part. */
const DESCRIPTION = `<entry xmlns="http://www.w3.org/2005/Atom"><id>https://127.0.0.1/orders</id><title type="text">orders</title><content type="application/xml">
<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">
<LockDuration>PT1M30S</LockDuration><MaxSizeInMegabytes>1024</MaxSizeInMegabytes><RequiresDuplicateDetection>false</RequiresDuplicateDetection>
<RequiresSession>false</RequiresSession><DefaultMessageTimeToLive>P14D</DefaultMessageTimeToLive><DeadLetteringOnMessageExpiration>false</DeadLetteringOnMessageExpiration>
<DuplicateDetectionHistoryTimeWindow>PT10M</DuplicateDetectionHistoryTimeWindow><MaxDeliveryCount>10</MaxDeliveryCount><EnableBatchedOperations>true</EnableBatchedOperations>
<Status>Active</Status><AutoDeleteOnIdle>P10D</AutoDeleteOnIdle><EnablePartitioning>false</EnablePartitioning><EnableExpress>false</EnableExpress>
</QueueDescription></content></entry>`;
