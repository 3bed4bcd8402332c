import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Delivery, OutgoingMessage, QueueDriver, SettleItem } from "../queue/driver.ts";
import { createMemoryBroker, type MemoryBroker, memoryBroker } from "./broker.ts";
import { createTimeline, type Timeline } from "./fake-clock.ts";
import { createMemoryQueue } from "./queue.ts";
import type { QueueSettings } from "./settings.ts";

const LEASE_MS = 1_000;
const message = (id: string, more: Partial<OutgoingMessage> = {}): OutgoingMessage => {
  return { id, body: `{"id":"${id}"}`, contentType: "application/json", ...more };
};
const complete = (delivery: Delivery): SettleItem => ({ verb: "complete", delivery });
const abandon = (delivery: Delivery, delayMs = 0): SettleItem => ({
  verb: "abandon",
  delivery,
  delayMs,
  copyId: "copy",
});

interface Stage {
  readonly timeline: Timeline;
  readonly broker: MemoryBroker;
  readonly driver: QueueDriver;
  take(max?: number): Promise<readonly Delivery[]>;
}

function stage(settings: Partial<QueueSettings> = {}): Stage {
  const timeline = createTimeline();
  const broker = createMemoryBroker({ clock: timeline.clock() });
  broker.createQueue("q", settings);
  const driver = createMemoryQueue({ name: "q", broker });
  return { timeline, broker, driver, take: (max = 1) => driver.receive({ max, waitMs: 0, leaseMs: LEASE_MS }) };
}

async function statusOf(driver: QueueDriver, item: SettleItem): Promise<string | undefined> {
  return (await driver.settle([item]))[0]?.status;
}

/** One message that was held by `former` and is held by `holder`. */
async function takenOver(
  settings: Partial<QueueSettings>,
): Promise<Stage & { readonly former: Delivery; readonly holder: Delivery }> {
  const all = stage(settings);
  await all.driver.send([message("a")]);
  const [former] = await all.take();
  await all.timeline.advance(LEASE_MS);
  const [holder] = await all.take();
  return { ...all, former: former as Delivery, holder: holder as Delivery };
}

describe("a token that is no longer held", () => {
  test("lost: every verb says so, and nothing changes", async () => {
    const { driver, former, holder, broker } = await takenOver({});
    for (const item of [complete(former), abandon(former)]) assert.equal(await statusOf(driver, item), "lost");
    assert.equal((await driver.extend([{ delivery: former, leaseMs: LEASE_MS }]))[0]?.status, "lost");
    assert.deepEqual(broker.counts("q"), { visible: 0, leased: 1, delayed: 0, deadLetters: 0 });
    assert.equal(await statusOf(driver, complete(holder)), "confirmed");
  });

  test("ignored: every verb is answered as applied, and nothing changes", async () => {
    const { driver, former, broker } = await takenOver({ staleComplete: "ignored", staleExtend: "ignored" });
    for (const item of [complete(former), abandon(former)]) assert.equal(await statusOf(driver, item), "confirmed");
    assert.equal((await driver.extend([{ delivery: former, leaseMs: 9 * LEASE_MS }]))[0]?.status, "confirmed");
    assert.equal(broker.counts("q").leased, 1);
  });

  test("succeeds: a complete takes the message from under its new holder", async () => {
    const { driver, former, holder, broker } = await takenOver({ staleComplete: "succeeds" });
    assert.equal(await statusOf(driver, complete(former)), "confirmed");
    assert.deepEqual(broker.counts("q"), { visible: 0, leased: 0, delayed: 0, deadLetters: 0 });
    assert.equal((await driver.extend([{ delivery: holder, leaseMs: LEASE_MS }]))[0]?.status, "lost");
    assert.equal(await statusOf(driver, complete(holder)), "confirmed", "a second delete is fine");
  });

  test("revives: an abandon takes the message from under its new holder", async () => {
    const { driver, former, take } = await takenOver({ staleExtend: "revives" });
    assert.equal(await statusOf(driver, abandon(former)), "confirmed");
    assert.equal(await statusOf(driver, abandon(former)), "confirmed", "visible already");
    assert.equal((await take(10)).length, 1);
  });

  test("revives: an extension hides a message again that nobody else took", async () => {
    const { driver, timeline, take } = stage({ staleExtend: "revives" });
    await driver.send([message("a")]);
    const [former] = await take();
    await timeline.advance(LEASE_MS);
    const delivery = former as Delivery;
    assert.equal((await driver.extend([{ delivery, leaseMs: LEASE_MS }]))[0]?.status, "confirmed");
    assert.deepEqual(await take(), []);
    assert.equal(await statusOf(driver, complete(delivery)), "confirmed");
    await timeline.advance(LEASE_MS);
    assert.deepEqual(await take(), []);
  });

  test("a token of another queue is malformed", async () => {
    const { broker, driver, take } = stage();
    broker.createQueue("q2");
    await driver.send([message("a")]);
    const [delivery] = await take();
    const other = createMemoryQueue({ name: "q2", broker });
    const [outcome] = await other.settle([complete(delivery as Delivery)]);
    assert.equal(outcome?.status === "failed" && outcome.code, "InvalidArgument");
  });
});

describe("waiting receives", () => {
  test("are served in the order in which they came, and a batch is not split between them", async () => {
    const { driver, timeline } = stage();
    const got: string[] = [];
    const wait = async (name: string, max: number): Promise<void> => {
      const deliveries = await driver.receive({ max, waitMs: 10_000, leaseMs: LEASE_MS });
      got.push(`${name}: ${deliveries.length}`);
    };
    const waiting = [wait("first", 2), wait("second", 10), wait("third", 1)];
    await driver.send([message("a"), message("b"), message("c")]);
    await timeline.settle();
    assert.deepEqual(got, ["first: 2", "second: 1"]);
    await timeline.until(Promise.all(waiting));
    assert.equal(got[2], "third: 1", "the first lease lapsed before the wait was over");
    assert.equal(timeline.pendingTimers(), 0);
  });

  test("one that comes later does not overtake", async () => {
    const { driver, timeline, take } = stage({ maxInFlight: 1 });
    await driver.send([message("a"), message("b")]);
    const [held] = await take();
    const waiting = driver.receive({ max: 1, waitMs: 10_000, leaseMs: LEASE_MS });
    await driver.settle([complete(held as Delivery)]);
    await assert.rejects(take(), { code: "ResourceExhausted" });
    assert.equal((await waiting)[0]?.body, message("b").body);
    await timeline.advance(10_000);
    assert.equal(timeline.pendingTimers(), 0);
  });

  test("an aborted one takes no message with it", async () => {
    const { driver, take } = stage();
    const controller = new AbortController();
    const waiting = driver.receive({ max: 1, waitMs: 10_000, leaseMs: LEASE_MS, signal: controller.signal });
    controller.abort();
    await driver.send([message("a")]);
    assert.deepEqual(await waiting, []);
    assert.equal((await take()).length, 1);
  });
});

describe("limits of a queue", () => {
  test("in flight: a receive that does not wait is refused, one that waits gets nothing until there is room", async () => {
    const { driver, timeline, take } = stage({ maxInFlight: 2 });
    await driver.send([message("a"), message("b"), message("c")]);
    const held = await take(10);
    assert.equal(held.length, 2);
    await assert.rejects(take(), { code: "ResourceExhausted" });
    assert.deepEqual(await timeline.until(driver.receive({ max: 1, waitMs: 100, leaseMs: LEASE_MS })), []);
    const waiting = driver.receive({ max: 1, waitMs: 100, leaseMs: LEASE_MS });
    await driver.settle([complete(held[0] as Delivery)]);
    assert.equal((await waiting)[0]?.body, message("c").body);
  });

  test("retention: what is too old vanishes, whether it waits, is held or is delayed", async () => {
    const { driver, timeline, take, broker } = stage({ retentionMs: 10_000 });
    await driver.send([message("held"), message("waits"), message("delayed", { delayMs: 20_000 })]);
    await take();
    await timeline.advance(9_999);
    assert.equal(broker.counts("q").visible, 2, "the held one is back");
    await timeline.advance(10_001);
    assert.deepEqual(await take(10), []);
    assert.deepEqual(broker.counts("q"), { visible: 0, leased: 0, delayed: 0, deadLetters: 0 });
  });

  test("total lease: an extension is cut at the ceiling", async () => {
    const { driver, timeline, take } = stage({ totalLeaseMs: 1_500 });
    await driver.send([message("a")]);
    const delivery = (await take())[0] as Delivery;
    await timeline.advance(900);
    assert.equal((await driver.extend([{ delivery, leaseMs: LEASE_MS }]))[0]?.status, "confirmed");
    await timeline.advance(599);
    assert.equal((await take()).length, 0);
    await timeline.advance(1);
    assert.equal((await take()).length, 1);
  });

  test("settings that cannot be are refused, by name", () => {
    const broker = createMemoryBroker();
    assert.throws(() => broker.createQueue("a", { maxBatch: 0 }), { code: "InvalidArgument", message: /^maxBatch/ });
    assert.throws(() => broker.createQueue("a", { retentionMs: Number.NaN }), {
      code: "InvalidArgument",
      message: /^retentionMs/,
    });
    assert.throws(() => broker.createQueue("a", { deadLetter: "store", maxDeliveries: 3 }), {
      message: /^maxDeliveries/,
    });
    broker.createQueue("a");
    assert.throws(() => broker.createQueue("a"), { code: "Conflict" });
  });
});

test("a new delivery has a token of its own; a copy has a message id of its own", async () => {
  const { driver, timeline, take } = stage({ abandonDelay: "copy" });
  await driver.send([message("a", { attributes: { kept: "yes" } })]);
  const first = (await take())[0] as Delivery;
  await driver.settle([abandon(first, 500)]);
  await timeline.advance(500);
  const copy = (await take())[0] as Delivery;
  assert.notEqual(copy.messageId, first.messageId);
  assert.equal(copy.deliveryCount, 2, "it carries the count of what it replaces");
  assert.deepEqual([copy.body, copy.attributes["kept"]], [first.body, "yes"]);
});

test("a message that the broker lost is gone without a trace, whatever its state", async () => {
  const { driver, take, broker } = stage();
  await driver.send([message("held"), message("waits"), message("stays")]);
  const held = (await take())[0] as Delivery;
  const [first, second] = broker.acts("q").messageIds();
  for (const id of [first, second]) assert.equal(broker.acts("q").lose(id as string), true);
  assert.equal(broker.acts("q").lose("q-99"), false);
  assert.equal(await statusOf(driver, complete(held)), "lost");
  assert.deepEqual(
    (await take(10)).map((delivery) => delivery.body),
    [message("stays").body],
  );
});

test("memory://name is one broker for the whole process", async () => {
  const [client, worker] = [createMemoryQueue({ name: "shared" }), createMemoryQueue({ name: "shared" })];
  await client.send([message("a")]);
  assert.equal((await worker.receive({ max: 1, waitMs: 0, leaseMs: LEASE_MS })).length, 1);
  assert.equal(memoryBroker("shared").counts("shared").leased, 1);
  assert.notEqual(memoryBroker("shared"), memoryBroker("another"));
});

test("a private queue needs no broker", async () => {
  const clock = createTimeline().clock();
  const [one, other] = [createMemoryQueue({ name: "q", clock }), createMemoryQueue({ name: "q", clock })];
  await one.send([message("a")]);
  assert.deepEqual(await other.receive({ max: 1, waitMs: 0, leaseMs: LEASE_MS }), []);
});

test("a backlog of 100,000 leaves in order, and calls on it stay cheap in steps", async () => {
  const { driver, take } = stage();
  const total = 100_000;
  for (let sent = 0; sent < total; sent += 10) {
    await driver.send(Array.from({ length: 10 }, (_, index) => message(`m-${sent + index}`)));
  }
  for (let done = 0; done < total; done += 10) {
    const deliveries = await take(10);
    assert.equal(deliveries[0]?.body, message(`m-${done}`).body);
    await driver.settle(deliveries.map(complete));
  }
  assert.deepEqual(await take(), []);
});
