import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { QueueDriver } from "@leasehold/core/driver";
import { createTimeline } from "@leasehold/core/memory";
import { type ServicebusEmulator, startServicebus } from "@leasehold/emulators";
import { createServicebusQueue } from "@leasehold/servicebus";
import { abandon, message, send, settle } from "../queue/support.ts";
import { type PlayedServer, playServer } from "./played-server.ts";
import { closePlayed, createPlayedClients, PAUSE_MS } from "./servicebus-embedded.ts";

/** Sessions that nobody works on are let go of, whatever ended the receive that took them. */
const LOCK_MS = 60_000;
const MINUTE_MS = 60_000;

interface Opened {
  readonly emulator: ServicebusEmulator;
  readonly driver: QueueDriver;
  readonly played: PlayedServer;
  /** Called with each call that arrives. */
  readonly hear: { call: (operation: string) => void };
  /** Timers that wait on the driver's clock. */
  timers(): number;
  another(): QueueDriver;
}

async function open(context: TestContext): Promise<Opened> {
  const timeline = createTimeline();
  const played = playServer(timeline, { pauseMs: PAUSE_MS });
  const hear: Opened["hear"] = { call: () => undefined };
  const emulator = await startServicebus({
    clock: timeline.clock(),
    linkIdleMs: Number.POSITIVE_INFINITY,
    onCall: ({ operation }) => hear.call(operation),
  });
  emulator.createQueue("main", { requiresSession: true, lockDurationMs: LOCK_MS });
  const pairs = [createPlayedClients(emulator), createPlayedClients(emulator)] as const;
  let waiting = 0;
  const clock = timeline.clock();
  const counted = {
    ...clock,
    setTimer(delayMs: number, callback: () => void) {
      let isOver = false;
      const end = (): void => {
        if (!isOver) waiting--;
        isOver = true;
      };
      waiting++;
      const timer = clock.setTimer(delayMs, () => {
        end();
        callback();
      });
      return {
        cancel() {
          end();
          timer.cancel();
        },
      };
    },
  };
  const [driver, other] = pairs.map((clients, index) =>
    createServicebusQueue({ queue: "main", sessions: true, clients, clock: index === 0 ? counted : clock }),
  ) as [QueueDriver, QueueDriver];
  context.after(async () => {
    await driver.close();
    await other.close();
    await closePlayed(pairs, played);
    await emulator.stop();
    played.end();
  });
  return { emulator, driver, played, hear, timers: () => waiting, another: () => other };
}

const keyed = (orderingKey: string) => message(`${orderingKey}-1`, { orderingKey });

async function take(driver: QueueDriver, max: number): Promise<readonly string[]> {
  const deliveries = await driver.receive({ max, waitMs: 0, leaseMs: LOCK_MS });
  return deliveries.map(({ orderingKey = "" }) => orderingKey);
}

test("a session is let go when another one fails that was taken along with it", async (context) => {
  const { emulator, driver, another } = await open(context);
  await send(driver, keyed("a"), keyed("b"));
  // The first look is at the queue, the others at each session.
  emulator.faults.add({ operation: "PeekMessage", nth: 3, error: { code: "com.microsoft:server-busy" } });
  await assert.rejects(take(driver, 2), { code: "ResourceExhausted" });
  assert.deepEqual([...(await take(another(), 2))].sort(), ["a", "b"]);
});

test("a session whose only message goes as it is taken is not waited for until its lock ends", async (context) => {
  const { emulator, driver, played, hear } = await open(context);
  await send(driver, keyed("a"));
  hear.call = (operation) => {
    if (operation === "Receive") emulator.acts("main").lose("1");
  };
  const taken = take(driver, 1);
  await played.wait(LOCK_MS / 4);
  assert.deepEqual(await taken, []);
  hear.call = () => undefined;
  await send(driver, keyed("b"));
  assert.deepEqual(await take(driver, 1), ["b"]);
});

test("a driver that is closed while it renews a session that it holds back leaves no timer", async (context) => {
  const { emulator, driver, played, timers } = await open(context);
  await send(driver, keyed("a"));
  const [delivery] = await driver.receive({ max: 1, waitMs: 0, leaseMs: LOCK_MS });
  assert.ok(delivery);
  assert.equal((await settle(driver, abandon(delivery, 4 * MINUTE_MS)))[0]?.status, "confirmed");
  emulator.faults.add({ operation: "RenewSessionLock", answerDelayMs: 1_000 });
  await played.wait(LOCK_MS / 2);
  assert.equal(emulator.calls.of("RenewSessionLock").calls, 1);
  await driver.close();
  await played.wait(2_000);
  assert.equal(timers(), 0);
});
