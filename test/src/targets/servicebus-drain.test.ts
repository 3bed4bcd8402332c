import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startServicebus } from "@leasehold/emulators";
import { createServicebusQueue } from "@leasehold/servicebus";
import { complete, message, send } from "../queue/support.ts";

/** The SDK by itself closes a link whose broker has not said after 200 ms that the credit is taken back. */
const BEYOND_SDK_MS = 400;

async function open(context: TestContext) {
  const emulator = await startServicebus();
  emulator.createQueue("main");
  const { connectionString } = emulator;
  const driver = createServicebusQueue({ queue: "main", client: { connectionString } });
  context.after(async () => {
    await driver.close();
    await emulator.stop();
  });
  return { emulator, driver };
}

const REQUEST = { max: 4, waitMs: 0, leaseMs: 60_000 };

test("a receive on a slow line gets what is there, and keeps its link", async (context) => {
  const { emulator, driver } = await open(context);
  await send(driver, message("a"));
  const slow = emulator.faults.add({ operation: "Receive", times: 2, answerDelayMs: BEYOND_SDK_MS });
  const [delivery] = await driver.receive(REQUEST);
  assert.ok(delivery !== undefined);
  assert.equal(delivery.body, message("a").body);
  await complete(driver, delivery);
  assert.deepEqual(await driver.receive(REQUEST), []);
  assert.equal(slow.hits(), 2);
  assert.equal(emulator.calls.of("Attach").calls, 2, "one to send, one to receive");
});

test("a receive that is aborted on a slow line gives back what comes", async (context) => {
  const { emulator, driver } = await open(context);
  await driver.receive(REQUEST);
  emulator.faults.add({ operation: "Receive", answerDelayMs: BEYOND_SDK_MS });
  await send(driver, message("a"));
  const leaving = new AbortController();
  const receiving = driver.receive({ ...REQUEST, waitMs: 60_000, signal: leaving.signal });
  while (emulator.acts("main").counts().inFlight === 0) await sleep(5);
  leaving.abort();
  assert.deepEqual(await receiving, []);
  while (emulator.acts("main").counts().visible === 0) await sleep(5);
  const [delivery] = await driver.receive(REQUEST);
  assert.equal(delivery?.body, message("a").body);
});
