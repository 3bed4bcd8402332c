import assert from "node:assert/strict";
import { type Delivery, isLeaseholdError } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { QueueHarness } from "./harness.ts";
import { abandon, complete, drain, message, pass, receive, receiveOne, send, settle } from "./support.ts";

/** Long enough that a wait which ends before it was ended by something else. */
const WAIT_MS = 15_000;

/** A receive under way, and whether it has ended. */
interface Waiting {
  readonly deliveries: Promise<readonly Delivery[]>;
  ended(): boolean;
}

function watched(deliveries: Promise<readonly Delivery[]>): Waiting {
  let ended = false;
  const note = (): void => {
    ended = true;
  };
  deliveries.then(note, note);
  return { deliveries, ended: () => ended };
}

export const receiving: Suite<QueueHarness> = {
  subject: "receive",
  cases: [
    {
      name: "a waiting receive is woken by a send",
      async run(harness) {
        const { driver, another } = await harness.open();
        const waiting = watched(driver.receive({ max: 1, waitMs: WAIT_MS, leaseMs: harness.minLeaseMs }));
        await harness.wait(100);
        assert.equal(waiting.ended(), false, "there was nothing to receive");
        await send(await another(), message("one"));
        await harness.wait(harness.toleranceMs);
        assert.equal(waiting.ended(), true, "the receive still waits");
        assert.equal((await waiting.deliveries)[0]?.body, message("one").body);
      },
    },
    {
      name: "a waiting receive is woken when a lease lapses",
      async run(harness) {
        const { driver, another } = await harness.open();
        await send(driver, message("one"));
        const first = await receiveOne(harness, driver);
        const waitMs = first.leaseMs + WAIT_MS;
        const waiting = watched((await another()).receive({ max: 1, waitMs, leaseMs: harness.minLeaseMs }));
        await harness.wait(first.leaseMs / 2);
        assert.equal(waiting.ended(), false, "the lease has not lapsed");
        await pass(harness, first.leaseMs / 2);
        assert.equal(waiting.ended(), true, "the receive still waits");
        assert.equal((await waiting.deliveries)[0]?.messageId, first.messageId);
      },
    },
    {
      name: "a waiting receive is woken when a message is given back, and when its delay ends",
      async run(harness) {
        const { driver } = await harness.open();
        const { maxAbandonDelayMs } = driver.capabilities;
        for (const delayMs of maxAbandonDelayMs === 0 ? [0] : [0, Math.min(harness.minLeaseMs, maxAbandonDelayMs)]) {
          await send(driver, message(`after-${delayMs}`));
          const first = await receiveOne(harness, driver);
          const waiting = watched(driver.receive({ max: 1, waitMs: WAIT_MS + delayMs, leaseMs: harness.minLeaseMs }));
          await settle(driver, abandon(first, delayMs));
          await pass(harness, delayMs);
          assert.equal(waiting.ended(), true, "the receive still waits");
          const [again] = await waiting.deliveries;
          assert.equal(again?.body, first.body);
          await complete(driver, again as Delivery);
        }
      },
    },
    {
      name: "a receive that waited in vain ends empty",
      async run(harness) {
        const { driver } = await harness.open();
        const waiting = watched(driver.receive({ max: 1, waitMs: 1_000, leaseMs: harness.minLeaseMs }));
        await pass(harness, 1_000);
        assert.equal(waiting.ended(), true, "the receive still waits");
        assert.deepEqual(await waiting.deliveries, []);
      },
    },
    {
      name: "a receive that does not wait answers at once",
      async run(harness) {
        const { driver } = await harness.open();
        assert.deepEqual(await driver.receive({ max: 1, waitMs: 0, leaseMs: harness.minLeaseMs }), []);
      },
    },
    {
      name: "a receive gets no more than it asked for, and leases no more",
      async run(harness) {
        const { driver, another } = await harness.open();
        await send(driver, message("a"), message("b"), message("c"));
        const two = await harness.until(driver.receive({ max: 2, waitMs: 1_000, leaseMs: harness.minLeaseMs }));
        assert.ok(two.length >= 1 && two.length <= 2);
        const rest = await receive(harness, await another(), { count: 3 - two.length });
        assert.equal(new Set([...two, ...rest].map((delivery) => delivery.body)).size, 3);
      },
    },
    {
      name: "one message goes to one of those who wait",
      async run(harness) {
        const { driver, another } = await harness.open();
        const clients = [driver, await another(), await another()];
        const waiting = clients.map((client) =>
          watched(client.receive({ max: 1, waitMs: WAIT_MS, leaseMs: driver.capabilities.maxLeaseMs })),
        );
        await harness.wait(100);
        for (const id of ["a", "b", "c"]) {
          const before = waiting.filter((one) => one.ended()).length;
          await send(driver, message(id));
          await harness.wait(harness.toleranceMs);
          assert.equal(waiting.filter((one) => one.ended()).length, before + 1);
        }
        const bodies = await Promise.all(waiting.map(async (one) => (await one.deliveries)[0]?.body));
        assert.deepEqual(
          bodies.sort(),
          ["a", "b", "c"].map((id) => message(id).body),
        );
      },
    },
    {
      name: "an aborted wait ends at once, and what comes later is stranded for no longer than a lease",
      async run(harness) {
        const { driver, another } = await harness.open();
        const controller = new AbortController();
        const leaseMs = harness.minLeaseMs;
        const waiting = watched(driver.receive({ max: 1, waitMs: WAIT_MS, leaseMs, signal: controller.signal }));
        await harness.wait(100);
        controller.abort();
        await harness.wait(harness.toleranceMs);
        assert.equal(waiting.ended(), true, "the receive still waits");
        assert.deepEqual(await waiting.deliveries, []);
        await send(driver, message("one"));
        await receive(harness, await another(), { withinMs: leaseMs });
      },
    },
    {
      name: "a message that arrives as the wait is aborted is handed out or comes back",
      async run(harness) {
        const { driver } = await harness.open();
        const leaseMs = harness.minLeaseMs;
        for (const first of ["send", "abort"]) {
          const controller = new AbortController();
          const waiting = driver.receive({ max: 1, waitMs: WAIT_MS, leaseMs, signal: controller.signal });
          await harness.wait(100);
          if (first === "abort") controller.abort();
          const sending = send(driver, message(first));
          controller.abort();
          await sending;
          const deliveries = await harness.until(waiting);
          const [one] =
            deliveries.length > 0 ? deliveries : await receive(harness, driver, { withinMs: leaseMs + 1_000 });
          assert.equal(one?.body, message(first).body);
          await complete(driver, one as Delivery);
        }
      },
    },
    {
      name: "a receive that was aborted before it began leases nothing",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const signal = AbortSignal.abort();
        assert.deepEqual(await driver.receive({ max: 1, waitMs: WAIT_MS, leaseMs: harness.minLeaseMs, signal }), []);
        const delivery = await receiveOne(harness, driver);
        assert.ok(delivery.deliveryCount === undefined || delivery.deliveryCount === 1);
      },
    },
    {
      name: "closing a client ends its wait and no other one",
      async run(harness) {
        const { driver, another } = await harness.open();
        const leaving = await another();
        const request = { max: 1, waitMs: WAIT_MS, leaseMs: harness.minLeaseMs };
        const waiting = [watched(leaving.receive(request)), watched(driver.receive(request))] as const;
        await harness.wait(100);
        await leaving.close();
        await harness.wait(harness.toleranceMs);
        assert.deepEqual(
          waiting.map((one) => one.ended()),
          [true, false],
        );
        const left = await waiting[0].deliveries.catch((error: unknown) => {
          assert.ok(isLeaseholdError(error, "Unavailable"));
          return [];
        });
        assert.deepEqual(left, []);
        await send(driver, message("one"));
        assert.equal((await harness.until(waiting[1].deliveries)).length, 1);
        assert.equal(await drain(harness, driver), 1, "the message comes back once, after its lease");
      },
    },
    {
      name: "a receive that makes no sense is refused",
      async run(harness) {
        const { driver } = await harness.open();
        const { maxBatch, maxLeaseMs, fixedLeaseMs } = driver.capabilities;
        const good = { max: 1, waitMs: 0, leaseMs: harness.minLeaseMs };
        const bad = [
          ...[0, -1, 1.5, maxBatch + 1, Number.NaN].map((max) => ({ ...good, max })),
          ...[-1, Number.NaN].map((waitMs) => ({ ...good, waitMs })),
          ...(fixedLeaseMs === undefined ? [0, -1, maxLeaseMs + 1_000, Number.NaN] : []).map((leaseMs) => ({
            ...good,
            leaseMs,
          })),
        ];
        for (const options of bad) {
          await assert.rejects(driver.receive(options), { code: "InvalidArgument" }, JSON.stringify(options));
        }
      },
    },
  ],
};
