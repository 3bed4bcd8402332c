import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Delivery, Outcome, QueueDriver } from "@leasehold/core/driver";
import { type ServicebusEmulator, startServicebus } from "@leasehold/emulators";
import { createClients, createServicebusQueue } from "@leasehold/servicebus";
import { message } from "../queue/support.ts";

/**
 * Connections that end at moments for which the SDK has no way on: it would wait for a minute, or for ever, and with it whatever its
 * client does. In real time; nothing that is expected to happen waits.
 */
const LEASE_MS = 60_000;
/** A second try finds out what the first one could not know: that the connection it was made on is gone. */
const TRIES = 2;

interface Opened {
  readonly emulator: ServicebusEmulator;
  readonly driver: QueueDriver;
}

async function open(context: TestContext, sessions = false): Promise<Opened> {
  const emulator = await startServicebus();
  emulator.createQueue("main", { requiresSession: sessions });
  const clients = createClients({ connectionString: emulator.connectionString });
  const driver = createServicebusQueue({ queue: "main", sessions, clients });
  context.after(async () => {
    await driver.close();
    // Clients that are stuck do not come back.
    void clients.poll.close();
    void clients.control.close();
    await emulator.stop();
  });
  return { emulator, driver };
}

async function send(driver: QueueDriver, id: string): Promise<Outcome["status"] | undefined> {
  return (await driver.send([message(id)]))[0]?.status;
}

async function takeOne(driver: QueueDriver): Promise<Delivery> {
  for (let tries = 0; tries < TRIES; tries++) {
    const deliveries = await driver.receive({ max: 1, waitMs: 0, leaseMs: LEASE_MS }).catch(() => []);
    if (deliveries[0] !== undefined) return deliveries[0];
  }
  return assert.fail("nothing can be received");
}

async function isConfirmed(call: () => Promise<Outcome["status"] | undefined>): Promise<void> {
  const seen: (Outcome["status"] | undefined)[] = [];
  while (seen.length < TRIES && seen.at(-1) !== "confirmed") seen.push(await call());
  assert.equal(seen.at(-1), "confirmed", seen.join(", "));
}

/** The service moves: every link is detached, and the connections end before anything more is said on them. */
async function move(emulator: ServicebusEmulator): Promise<void> {
  assert.ok(emulator.detach("main") > 0);
  await turn();
  await emulator.pause();
  await emulator.resume();
}

test("a connection that ends while a link is detached is replaced, for all that is done on it", async (context) => {
  const { emulator, driver } = await open(context);
  await send(driver, "a");
  const delivery = await takeOne(driver);
  await driver.extend([{ delivery, leaseMs: LEASE_MS }]);
  await move(emulator);
  await isConfirmed(() => send(driver, "b"));
  await isConfirmed(async () => (await driver.extend([{ delivery, leaseMs: LEASE_MS }]))[0]?.status);
  await isConfirmed(async () => (await driver.settle([{ verb: "complete", delivery }]))[0]?.status);
  assert.notEqual((await takeOne(driver)).messageId, delivery.messageId);
});

test("a connection that ends while a session is detached is replaced", async (context) => {
  const { emulator, driver } = await open(context, true);
  await send(driver, "a");
  const { messageId } = await takeOne(driver);
  await move(emulator);
  assert.equal((await takeOne(driver)).messageId, messageId);
});

for (const sessions of [false, true]) {
  test(`a connection that ends while a token is put is replaced, ${sessions ? "with" : "without"} sessions`, async (context) => {
    const { emulator, driver } = await open(context, sessions);
    emulator.faults.add({ operation: "PutToken", drop: "before" });
    await isConfirmed(() => send(driver, "a"));
    emulator.faults.add({ operation: "PutToken", drop: "before" });
    const delivery = await takeOne(driver);
    emulator.faults.add({ operation: "PutToken", drop: "before" });
    if (!sessions) await isConfirmed(async () => (await driver.extend([{ delivery, leaseMs: LEASE_MS }]))[0]?.status);
    await isConfirmed(async () => (await driver.settle([{ verb: "complete", delivery }]))[0]?.status);
  });
}
