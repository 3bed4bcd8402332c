import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { QueueHarness } from "./harness.ts";
import {
  abandon,
  complete,
  drain,
  expectExtended,
  expectNoFailure,
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

export const leases: Suite<QueueHarness> = {
  subject: "leases",
  cases: [
    {
      name: "no redelivery before the lease ends, redelivery after it, under a new token",
      async run(harness) {
        const { driver, another } = await harness.open();
        const other = await another();
        await send(driver, message("one"));
        const first = await receiveOne(harness, driver);
        await harness.wait(first.leaseMs / 2);
        await expectNothing(harness, other, first.leaseMs / 4);
        await pass(harness, first.leaseMs / 4);
        const second = await receiveOne(harness, other);
        assert.equal(second.messageId, first.messageId);
        assert.equal(second.body, first.body);
        assert.notEqual(second.token, first.token);
        assert.equal(second.deliveryCount, first.deliveryCount === undefined ? undefined : 2);
      },
    },
    {
      name: "the delivery says how long it is held",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const askedMs = 2 * harness.minLeaseMs;
        const { leaseMs } = await receiveOne(harness, driver, askedMs);
        const grantedMs = driver.capabilities.fixedLeaseMs ?? askedMs;
        assert.ok(leaseMs > 0 && leaseMs <= grantedMs, `granted ${grantedMs} ms, says ${leaseMs}`);
        assert.ok(leaseMs >= grantedMs - harness.toleranceMs, `granted ${grantedMs} ms, says ${leaseMs}`);
      },
    },
    {
      name: "an extension counts from the call",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        const { leaseMs } = delivery;
        await harness.wait(leaseMs / 2);
        expectExtended((await driver.extend([{ delivery, leaseMs }]))[0]);
        await harness.wait(leaseMs * 0.7);
        await expectNothing(harness, driver, leaseMs / 10);
        await pass(harness, leaseMs * 0.2);
        const again = await receiveOne(harness, driver);
        assert.ok(again.deliveryCount === undefined || again.deliveryCount === 2, "it came back once");
      },
    },
    {
      name: "extensions can follow each other, and the last holder completes",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        for (let beat = 0; beat < 6; beat++) {
          await harness.wait(delivery.leaseMs / 2);
          expectExtended((await driver.extend([{ delivery, leaseMs: delivery.leaseMs }]))[0]);
        }
        await complete(driver, delivery);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "a shorter extension ends a lease earlier",
      unless: unlessAble("chosen lease"),
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver, 10 * harness.minLeaseMs);
        expectExtended((await driver.extend([{ delivery, leaseMs: harness.minLeaseMs }]))[0]);
        await pass(harness, harness.minLeaseMs);
        await receiveOne(harness, driver);
      },
    },
    {
      name: "an extension that cannot be is refused, and the lease stays as it was",
      unless: unlessAble("chosen lease"),
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        for (const leaseMs of [0, -1, Number.NaN, driver.capabilities.maxLeaseMs + 1_000]) {
          assert.equal(await refusalOf(driver.extend([{ delivery, leaseMs }])), "InvalidArgument", String(leaseMs));
        }
        await complete(driver, delivery);
      },
    },
    {
      name: "no extension reaches beyond the broker's total, and none of them loses the message",
      needs: ["time"],
      unless: unlessAble("total lease"),
      async run(harness) {
        const { driver } = await harness.open({ totalLeaseMs: 43_200_000 });
        const totalMs = driver.capabilities.totalLeaseMs as number;
        const stepMs = Math.min(totalMs / 2, driver.capabilities.maxLeaseMs);
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver, stepMs);
        const beatMs = delivery.leaseMs / 2;
        let heldMs = 0;
        for (; heldMs + beatMs <= totalMs; heldMs += beatMs) {
          await expectNothing(harness, driver, 1);
          expectExtended((await driver.extend([{ delivery, leaseMs: delivery.leaseMs }]))[0]);
          await harness.wait(beatMs - 1);
        }
        await pass(harness, totalMs - heldMs);
        assert.equal((await receiveOne(harness, driver)).messageId, delivery.messageId);
      },
    },
    {
      name: "messages of one receive have leases of their own",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("a"), message("b"), message("c"));
        const [first, second, third] = await receive(harness, driver, { count: 3 });
        await complete(driver, first as NonNullable<typeof first>);
        await harness.wait(harness.minLeaseMs / 2);
        const delivery = second as NonNullable<typeof second>;
        expectExtended((await driver.extend([{ delivery, leaseMs: harness.minLeaseMs }]))[0]);
        await pass(harness, harness.minLeaseMs / 2);
        assert.equal((await receiveOne(harness, driver)).body, third?.body);
        await expectNothing(harness, driver);
      },
    },
    {
      name: "a completed message never comes again, and completing it twice is no failure",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        await complete(driver, delivery);
        const [twice] = await settle(driver, { verb: "complete", delivery });
        expectNoFailure(twice);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "an extension after loss, nobody else holding it, leaves the message deliverable",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        await pass(harness, delivery.leaseMs);
        const [outcome] = await driver.extend([{ delivery, leaseMs: harness.minLeaseMs }]);
        expectNoFailure(outcome);
        await pass(harness, harness.minLeaseMs);
        assert.equal((await receiveOne(harness, driver)).messageId, delivery.messageId);
      },
    },
    {
      name: "a complete after loss, nobody else holding it, is no failure and leaves at most the one message",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        await pass(harness, delivery.leaseMs);
        const [outcome] = await settle(driver, { verb: "complete", delivery });
        expectNoFailure(outcome);
        const left = await drain(harness, driver);
        assert.ok(left <= 1);
        if (outcome?.status === "lost") assert.equal(left, 1, "what the broker calls lost is still there");
      },
    },
    {
      name: "an extension by a former holder leaves the new holder able to complete",
      async run(harness) {
        const { driver, another } = await harness.open();
        const other = await another();
        await send(driver, message("one"));
        const former = await receiveOne(harness, driver);
        await pass(harness, former.leaseMs);
        const holder = await receiveOne(harness, other);
        const [outcome] = await driver.extend([{ delivery: former, leaseMs: harness.minLeaseMs }]);
        expectNoFailure(outcome);
        await complete(other, holder);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "a complete by a former holder never makes the new holder's calls fail",
      async run(harness) {
        const { driver, another } = await harness.open();
        const other = await another();
        await send(driver, message("one"));
        const former = await receiveOne(harness, driver);
        await pass(harness, former.leaseMs);
        const holder = await receiveOne(harness, other);
        expectNoFailure((await settle(driver, { verb: "complete", delivery: former }))[0]);
        expectNoFailure((await other.extend([{ delivery: holder, leaseMs: harness.minLeaseMs }]))[0]);
        expectNoFailure((await settle(other, { verb: "complete", delivery: holder }))[0]);
        assert.equal(await drain(harness, driver), 0, "the new holder's complete was the end of it");
      },
    },
    {
      name: "an abandon by a former holder never makes the new holder's calls fail, nor loses the message",
      async run(harness) {
        const { driver, another } = await harness.open();
        const other = await another();
        await send(driver, message("one"));
        const former = await receiveOne(harness, driver);
        await pass(harness, former.leaseMs);
        const holder = await receiveOne(harness, other);
        expectNoFailure((await settle(driver, abandon(former, 0)))[0]);
        const [extended] = await other.extend([{ delivery: holder, leaseMs: harness.minLeaseMs }]);
        expectNoFailure(extended);
        if (extended?.status === "lost") await receiveOne(harness, driver);
        await pass(harness, harness.minLeaseMs);
        assert.equal(await drain(harness, driver), 1);
      },
    },
    {
      name: "a lease that the broker ends early is delivered again, and its old token is no failure",
      unless: unlessAble("expire"),
      async run(harness) {
        const { driver, act } = await harness.open();
        await send(driver, message("one"));
        const former = await receiveOne(harness, driver);
        await act("expire", former.messageId);
        const holder = await receiveOne(harness, driver);
        assert.equal(holder.messageId, former.messageId);
        assert.notEqual(holder.token, former.token);
        expectNoFailure((await driver.extend([{ delivery: former, leaseMs: harness.minLeaseMs }]))[0]);
        await complete(driver, holder);
        assert.equal(await drain(harness, driver), 0);
      },
    },
  ],
};
