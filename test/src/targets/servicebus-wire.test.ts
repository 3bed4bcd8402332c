import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { DeadLetter, Delivery, Outcome, QueueDriver, SettleItem } from "@leasehold/core/driver";
import { createTimeline } from "@leasehold/core/memory";
import {
  type EntitySettings,
  type ServicebusEmulator,
  type ServicebusOptions,
  startServicebus,
} from "@leasehold/emulators";
import { createServicebusQueue, type ServicebusClients, type ServicebusDelivery } from "@leasehold/servicebus";
import { abandon, complete, deadLetter, message, send, settle } from "../queue/support.ts";
import { type PlayedServer, playServer } from "./played-server.ts";
import { closePlayed, createPlayedClients, PAUSE_MS } from "./servicebus-embedded.ts";

/** What only Service Bus has: links and tokens that end during a long handler, locks of sessions, copies beside duplicate detection. */
interface Opened {
  readonly emulator: ServicebusEmulator;
  readonly clients: ServicebusClients;
  readonly driver: QueueDriver;
  readonly played: PlayedServer;
  another(): QueueDriver;
}

const LOCK_MS = 60_000;
const MINUTE_MS = 60_000;

async function open(
  context: TestContext,
  {
    entity = {},
    emulator: options = {},
  }: { readonly entity?: EntitySettings; readonly emulator?: ServicebusOptions } = {},
): Promise<Opened> {
  const timeline = createTimeline();
  const played = playServer(timeline, { pauseMs: PAUSE_MS });
  const emulator = await startServicebus({ ...options, clock: timeline.clock() });
  emulator.createQueue("main", { lockDurationMs: LOCK_MS, maxDeliveryCount: 1_000, ...entity });
  const pairs: ServicebusClients[] = [];
  const drivers: QueueDriver[] = [];
  const connect = (): ServicebusClients => {
    const pair = createPlayedClients(emulator);
    pairs.push(pair);
    return pair;
  };
  const another = (): QueueDriver => {
    const sessions = entity.requiresSession ?? false;
    const driver = createServicebusQueue({ queue: "main", sessions, clients: connect(), clock: timeline.clock() });
    drivers.push(driver);
    return driver;
  };
  context.after(async () => {
    for (const driver of drivers) await driver.close();
    await closePlayed(pairs, played);
    await emulator.stop();
    played.end();
  });
  return { emulator, clients: connect(), driver: another(), played, another };
}

async function take(driver: QueueDriver, max = 1): Promise<readonly Delivery[]> {
  return driver.receive({ max, waitMs: 0, leaseMs: LOCK_MS });
}

async function takeOne(driver: QueueDriver): Promise<Delivery> {
  const [delivery] = await take(driver);
  assert.ok(delivery !== undefined, "nothing can be received");
  return delivery;
}

async function look(played: PlayedServer, driver: QueueDriver, max: number): Promise<readonly DeadLetter[]> {
  return played.until(driver.deadLetters?.look({ max, leaseMs: LOCK_MS }) ?? Promise.resolve([]));
}

async function extend(driver: QueueDriver, delivery: Delivery): Promise<Outcome["status"] | undefined> {
  return (await driver.extend([{ delivery, leaseMs: LOCK_MS }]))[0]?.status;
}

/** Renews every half minute for so long, as a worker does, and insists that each is confirmed. */
async function keepFor({ driver, played }: Opened, delivery: Delivery, ms: number): Promise<void> {
  for (let heldMs = 0; heldMs < ms; heldMs += LOCK_MS / 2) {
    await played.wait(LOCK_MS / 2);
    assert.equal(await extend(driver, delivery), "confirmed");
  }
}

test("a message whose link was detached is renewed and settled by its lock token (SB-05, SB-06)", async (context) => {
  const { emulator, driver, played } = await open(context);
  await send(driver, message("a"), message("b"), message("c"));
  const held = [await takeOne(driver), await takeOne(driver), await takeOne(driver)] as const;
  assert.ok(emulator.detach("main") > 0);
  for (const delivery of held) assert.equal(await extend(driver, delivery), "confirmed");
  await complete(driver, held[0]);
  assert.equal((await settle(driver, abandon(held[1], 0)))[0]?.status, "confirmed");
  assert.equal((await settle(driver, deadLetter(held[2], "poison", "cannot be handled", 3)))[0]?.status, "confirmed");
  assert.equal((await takeOne(driver)).body, held[1].body);
  const [letter] = await look(played, driver, 1);
  assert.deepEqual([letter?.reason, letter?.fence], [{ code: "poison", text: "cannot be handled" }, 3]);
});

test("a message of a link that was detached is settled although the receiver is back (SB-05)", async (context) => {
  const { emulator, driver, played } = await open(context);
  await send(driver, message("a"));
  const old = await takeOne(driver);
  emulator.detach("main");
  await played.rest();
  await send(driver, message("b"));
  await complete(driver, await takeOne(driver));
  await complete(driver, old);
  assert.deepEqual(await take(driver), []);
});

test("a handler may last longer than an idle link is kept (SB-05)", async (context) => {
  const opened = await open(context, { emulator: { linkIdleMs: 10 * MINUTE_MS } });
  const { driver } = opened;
  await send(driver, message("a"));
  const delivery = await takeOne(driver);
  await keepFor(opened, delivery, 25 * MINUTE_MS);
  await complete(driver, delivery);
  assert.deepEqual(await take(driver), []);
});

test("a handler may last longer than a token lets it in", async (context) => {
  const opened = await open(context, { emulator: { tokenLifetimeMs: 20 * MINUTE_MS } });
  const { driver } = opened;
  await send(driver, message("a"));
  const delivery = await takeOne(driver);
  await keepFor(opened, delivery, 50 * MINUTE_MS);
  await complete(driver, delivery);
  await send(driver, message("b"));
  await complete(driver, await takeOne(driver));
});

test("neighbours that are settled together each get an outcome of their own", async (context) => {
  const { emulator, driver, played } = await open(context);
  const ids = Array.from({ length: 16 }, (_, index) => `m-${index}`);
  await send(driver, ...ids.map((id) => message(id)));
  const deliveries = await take(driver, ids.length);
  assert.equal(deliveries.length, ids.length);
  const verbs: readonly ((delivery: Delivery, index: number) => SettleItem)[] = [
    (delivery) => ({ verb: "complete", delivery }),
    (delivery) => abandon(delivery, 0),
    (delivery, index) => deadLetter(delivery, `code-${index}`, "text"),
    (delivery, index) => deadLetter(delivery, `code-${index}`, "text"),
  ];
  const outcomes = await driver.settle(
    deliveries.map((delivery, index) => (verbs[index % 4] as (typeof verbs)[number])(delivery, index)),
  );
  assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(["confirmed"]));
  assert.equal(emulator.acts("main").counts().visible, 4);
  const codes: (string | undefined)[] = [];
  for (;;) {
    const letters = await look(played, driver, 8);
    if (letters.length === 0) break;
    codes.push(...letters.map(({ reason }) => reason?.code));
  }
  assert.deepEqual(codes.sort(), [2, 3, 6, 7, 10, 11, 14, 15].map((index) => `code-${index}`).sort());
});

test("the copy of a delayed message is not taken for a duplicate, and carries what came before (SB-34)", async (context) => {
  const { driver, played } = await open(context, { entity: { duplicateDetectionWindowMs: 10 * MINUTE_MS } });
  await send(driver, message("one", { attributes: { kept: "yes" } }));
  let delivery = await takeOne(driver);
  for (const count of [2, 3]) {
    const copyId = `one.${delivery.messageId}`;
    const [outcome] = await settle(driver, { verb: "abandon", delivery, delayMs: MINUTE_MS, copyId });
    assert.equal(outcome?.status, "confirmed");
    assert.deepEqual(await take(driver), []);
    await played.wait(MINUTE_MS);
    delivery = await takeOne(driver);
    assert.deepEqual([delivery.deliveryCount, delivery.attributes], [count, { kept: "yes" }]);
  }
  const [buried] = await settle(driver, deadLetter(delivery, "poison", "cannot be handled"));
  assert.equal(buried?.status, "confirmed");
  const [letter] = await look(played, driver, 1);
  assert.equal((await driver.deadLetters?.redrive(letter === undefined ? [] : [letter]))?.[0]?.status, "confirmed");
  const redriven = await takeOne(driver);
  assert.deepEqual([redriven.deliveryCount, redriven.attributes], [1, { kept: "yes" }]);
});

test("what other producers put into a message is read, and goes along in a copy", async (context) => {
  const { clients, driver, played } = await open(context);
  const sender = clients.control.createSender("main");
  const applicationProperties = { text: "t", number: 7, yes: true };
  await sender.sendMessages([
    { body: { a: 1 }, messageId: "object", subject: "s", applicationProperties },
    { body: "text", messageId: "text" },
  ]);
  await sender.close();
  const [object, text] = [await takeOne(driver), await takeOne(driver)] as const;
  assert.deepEqual([object.body, text.body], ['{"a":1}', '"text"']);
  assert.deepEqual(object.attributes, { text: "t" });
  await complete(driver, text);
  const [outcome] = await settle(driver, { verb: "abandon", delivery: object, delayMs: MINUTE_MS, copyId: "copy" });
  assert.equal(outcome?.status, "confirmed");
  await played.wait(MINUTE_MS);
  const copied = (await takeOne(driver)) as ServicebusDelivery;
  assert.equal(copied.body, object.body);
  const { subject, applicationProperties: properties, messageId } = copied.held?.().message ?? {};
  assert.deepEqual([messageId, subject], ["copy", "s"]);
  assert.deepEqual([properties?.["number"], properties?.["yes"], properties?.["text"]], [7, true, "t"]);
});

test("a delivery that came from elsewhere is settled by its token alone", async (context) => {
  const { driver, another } = await open(context);
  await send(driver, message("one"));
  const delivery = JSON.parse(JSON.stringify(await takeOne(driver))) as Delivery;
  const elsewhere = another();
  assert.equal(await extend(elsewhere, delivery), "confirmed");
  await complete(elsewhere, delivery);
  assert.deepEqual(await take(driver), []);
});

test("the length of a lock is read off the first delivery, whatever the options say (SB-02)", async (context) => {
  const { driver } = await open(context, { entity: { lockDurationMs: 5 * MINUTE_MS } });
  assert.equal(driver.capabilities.fixedLeaseMs, 60_000);
  await send(driver, message("one"));
  assert.equal((await takeOne(driver)).leaseMs, 5 * MINUTE_MS);
  assert.equal(driver.capabilities.fixedLeaseMs, 5 * MINUTE_MS);
});

test("a session is kept and renewed while its head is held back, and other keys go on", async (context) => {
  const { emulator, driver, played, another } = await open(context, { entity: { requiresSession: true } });
  const keyed = (id: string, orderingKey: string) => message(id, { orderingKey });
  await send(driver, keyed("a-1", "a"), keyed("a-2", "a"), keyed("b-1", "b"));
  const head = await takeOne(driver);
  assert.equal(head.orderingKey, "a");
  const [outcome] = await settle(driver, abandon(head, 4 * MINUTE_MS));
  assert.equal(outcome?.status, "confirmed");
  await complete(driver, await takeOne(driver));
  const other = another();
  for (let minute = 0; minute < 3; minute++) {
    await played.wait(MINUTE_MS);
    assert.deepEqual(await take(other), []);
  }
  assert.ok(emulator.calls.of("RenewSessionLock").calls >= 6, "renewed twice in a minute");
  await played.wait(MINUTE_MS);
  const again = await takeOne(driver);
  assert.deepEqual([again.messageId, again.deliveryCount], [head.messageId, 2]);
  await complete(driver, again);
  assert.equal((await takeOne(driver)).body, message("a-2").body);
});

test("a session whose link is gone is lost at once, without a call (SB-03, SB-06)", async (context) => {
  const { emulator, driver, played, another } = await open(context, { entity: { requiresSession: true } });
  await send(driver, message("a", { orderingKey: "k" }));
  const delivery = await takeOne(driver);
  emulator.detach("main");
  await played.rest();
  emulator.calls.reset();
  assert.equal(await extend(driver, delivery), "lost");
  assert.deepEqual(await settle(driver, { verb: "complete", delivery }), [{ status: "lost" }]);
  assert.equal(emulator.calls.total(), 0);
  assert.equal((await takeOne(another())).messageId, delivery.messageId);
});
