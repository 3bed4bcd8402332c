import assert from "node:assert/strict";
import type { Delivery } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { QueueHarness } from "./harness.ts";
import {
  abandon,
  complete,
  deadLetter,
  expectApplied,
  expectExtended,
  expectNothing,
  message,
  pass,
  receive,
  receiveOne,
  refusalOf,
  send,
  settle,
  unlessAble,
} from "./support.ts";

const keyed = (key: string, number: number) => message(`${key}-${number}`, { orderingKey: key });
const unless = unlessAble("ordering");

/** Receives and completes until `count` are through; answers their bodies in order of delivery. */
async function inOrder(harness: QueueHarness, driver: Parameters<typeof receive>[1], count: number): Promise<string[]> {
  const bodies: string[] = [];
  while (bodies.length < count) {
    const deliveries = await harness.until(driver.receive({ max: 3, waitMs: 2_000, leaseMs: harness.minLeaseMs }));
    assert.notEqual(deliveries.length, 0, `only ${bodies.length} of ${count} came`);
    bodies.push(...deliveries.map((delivery) => delivery.body));
    await complete(driver, ...deliveries);
  }
  return bodies;
}

const bodiesOf = (key: string, ...numbers: readonly number[]): string[] =>
  numbers.map((number) => keyed(key, number).body);

export const ordering: Suite<QueueHarness> = {
  subject: "ordering keys",
  cases: [
    {
      name: "a key comes in the order of sending, and says which it is",
      unless,
      async run(harness) {
        const { driver } = await harness.open({ ordering: true });
        await send(driver, keyed("a", 1));
        const first = await receiveOne(harness, driver);
        assert.equal(first.orderingKey, "a");
        await complete(driver, first);
        await send(driver, keyed("a", 2), keyed("a", 3));
        await send(driver, keyed("a", 4));
        assert.deepEqual(await inOrder(harness, driver, 3), bodiesOf("a", 2, 3, 4));
      },
    },
    {
      name: "the next of a key waits behind its leased head; other keys, and messages without one, do not",
      unless,
      async run(harness) {
        const { driver, another } = await harness.open({ ordering: true });
        const other = await another();
        await send(driver, keyed("a", 1), keyed("a", 2));
        const head = await receiveOne(harness, driver, 4 * harness.minLeaseMs);
        assert.equal(head.body, keyed("a", 1).body);
        await expectNothing(harness, other);
        await send(driver, keyed("b", 1), message("free"));
        const bodies = (await receive(harness, other, { count: 2 })).map((delivery) => delivery.body);
        assert.deepEqual(bodies.sort(), [keyed("b", 1).body, message("free").body].sort());
        expectExtended((await driver.extend([{ delivery: head, leaseMs: harness.minLeaseMs }]))[0]);
        await complete(driver, head);
        assert.equal((await receiveOne(harness, other)).body, keyed("a", 2).body);
      },
    },
    {
      name: "a waiting receive is woken when the head of a key is completed",
      unless,
      async run(harness) {
        const { driver, another } = await harness.open({ ordering: true });
        await send(driver, keyed("a", 1), keyed("a", 2));
        const head = await receiveOne(harness, driver, 4 * harness.minLeaseMs);
        const waiting = (await another()).receive({ max: 1, waitMs: 3_000, leaseMs: harness.minLeaseMs });
        await harness.wait(100);
        await complete(driver, head);
        const [next] = await harness.until(waiting);
        assert.equal(next?.body, keyed("a", 2).body);
      },
    },
    {
      name: "a key is held back while its head is held back by a delay",
      unless,
      async run(harness) {
        const { driver } = await harness.open({ ordering: true });
        const delayMs = Math.min(harness.minLeaseMs, driver.capabilities.maxAbandonDelayMs);
        await send(driver, keyed("a", 1), keyed("a", 2));
        const head = await receiveOne(harness, driver);
        expectApplied(driver, (await settle(driver, abandon(head, delayMs)))[0]);
        if (delayMs > 0) await expectNothing(harness, driver, delayMs / 2);
        await pass(harness, delayMs / 2);
        const again = await receiveOne(harness, driver);
        assert.equal(again.messageId, head.messageId, "the same message, no copy");
        await complete(driver, again);
        assert.equal((await receiveOne(harness, driver)).body, keyed("a", 2).body);
      },
    },
    {
      name: "a lapsed head comes first again",
      unless,
      async run(harness) {
        const { driver, another } = await harness.open({ ordering: true });
        await send(driver, keyed("a", 1), keyed("a", 2));
        const head = await receiveOne(harness, driver);
        await pass(harness, head.leaseMs);
        assert.deepEqual(await inOrder(harness, await another(), 2), bodiesOf("a", 1, 2));
      },
    },
    {
      name: "a tail that came with its head is in order, and the rest waits for all of it",
      unless,
      async run(harness) {
        const { driver, another } = await harness.open({ ordering: true });
        await send(driver, keyed("a", 1), keyed("a", 2), keyed("a", 3));
        const leaseMs = 4 * harness.minLeaseMs;
        const batch = await harness.until(driver.receive({ max: 2, waitMs: 2_000, leaseMs }));
        assert.deepEqual(
          batch.map((delivery) => delivery.body),
          bodiesOf("a", 1, 2).slice(0, batch.length),
        );
        await expectNothing(harness, await another());
        await complete(driver, ...batch);
        assert.deepEqual(await inOrder(harness, driver, 3 - batch.length), bodiesOf("a", 1, 2, 3).slice(batch.length));
      },
    },
    {
      name: "a batch given back, last first, comes again in order",
      unless,
      async run(harness) {
        const { driver, another } = await harness.open({ ordering: true });
        await send(driver, keyed("a", 1), keyed("a", 2), keyed("a", 3));
        const batch = await harness.until(driver.receive({ max: 3, waitMs: 2_000, leaseMs: 4 * harness.minLeaseMs }));
        for (const delivery of [...batch].reverse()) {
          expectApplied(driver, (await settle(driver, abandon(delivery, 0)))[0]);
        }
        assert.deepEqual(await inOrder(harness, await another(), 3), bodiesOf("a", 1, 2, 3));
      },
    },
    {
      name: "a head that is given back while later ones of its key are out comes first again",
      unless,
      async run(harness) {
        const { driver } = await harness.open({ ordering: true });
        await send(driver, keyed("a", 1), keyed("a", 2));
        const batch = await harness.until(driver.receive({ max: 2, waitMs: 2_000, leaseMs: 4 * harness.minLeaseMs }));
        expectApplied(driver, (await settle(driver, abandon(batch[0] as Delivery, 0)))[0]);
        const head = await receiveOne(harness, driver);
        assert.equal(head.messageId, batch[0]?.messageId);
        await expectNothing(harness, driver);
      },
    },
    {
      name: "two clients side by side never hold one key at once, and each key stays in order",
      unless,
      async run(harness) {
        const { driver, another } = await harness.open({ ordering: true });
        const clients = [driver, await another()];
        const keys = ["a", "b", "c"];
        for (const number of [1, 2, 3]) await send(driver, ...keys.map((key) => keyed(key, number)));
        const held = new Map<string, number>();
        const seen = new Map<string, string[]>(keys.map((key) => [key, []]));
        const work = async (client: number): Promise<void> => {
          for (;;) {
            const request = { max: 1, waitMs: 500, leaseMs: 10 * harness.minLeaseMs };
            const [delivery] = await (clients[client] as typeof driver).receive(request);
            if (delivery === undefined) return;
            const { orderingKey: key, body } = delivery as Delivery & { readonly orderingKey: string };
            assert.equal(held.get(key), undefined, `${body} came while its key was held`);
            held.set(key, client);
            seen.get(key)?.push(body);
            await Promise.resolve();
            held.delete(key);
            await complete(clients[client] as typeof driver, delivery);
          }
        };
        await harness.until(Promise.all([work(0), work(1)]));
        for (const key of keys) assert.deepEqual(seen.get(key), bodiesOf(key, 1, 2, 3));
      },
    },
    {
      name: "a dead-lettered head gives way",
      unless,
      async run(harness) {
        const { driver } = await harness.open({ ordering: true });
        await send(driver, keyed("a", 1), keyed("a", 2));
        const head = await receiveOne(harness, driver);
        expectApplied(driver, (await settle(driver, deadLetter(head, "poison", "cannot be handled")))[0]);
        assert.equal((await receiveOne(harness, driver)).body, keyed("a", 2).body);
      },
    },
    {
      name: "a delay and a key together are refused as unsupported",
      unless,
      async run(harness) {
        const { driver } = await harness.open({ ordering: true });
        const both = { ...keyed("a", 1), delayMs: 1_000 };
        assert.equal(await refusalOf(driver.send([both])), "Unsupported");
        await expectNothing(harness, driver);
      },
    },
    {
      name: "a key is refused as unsupported where keys are not declared",
      async run(harness) {
        const { driver } = await harness.open({ ordering: false });
        assert.equal(driver.capabilities.ordering, false);
        assert.equal(await refusalOf(driver.send([keyed("a", 1)])), "Unsupported");
        await expectNothing(harness, driver);
      },
    },
  ],
};
