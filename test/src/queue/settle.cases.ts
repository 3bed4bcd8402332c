import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { QueueHarness } from "./harness.ts";
import {
  abandon,
  complete,
  deadLetter,
  drain,
  expectApplied,
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

export const settling: Suite<QueueHarness> = {
  subject: "settle",
  cases: [
    {
      name: "an abandoned message is there at once, and each delivery counts",
      async run(harness) {
        const { driver, another } = await harness.open();
        const other = await another();
        await send(driver, message("one"));
        let delivery = await receiveOne(harness, driver);
        for (let count = 2; count <= 4; count++) {
          expectApplied(driver, (await settle(driver, abandon(delivery, 0)))[0]);
          delivery = await receiveOne(harness, other);
          assert.ok(delivery.deliveryCount === undefined || delivery.deliveryCount === count);
        }
      },
    },
    {
      name: "an abandon with a delay hides the message until the delay has passed, where that is declared",
      async run(harness) {
        const { driver } = await harness.open();
        const { maxAbandonDelayMs } = driver.capabilities;
        const attributes = { kept: "yes" };
        await send(driver, message("one", { attributes }));
        const first = await receiveOne(harness, driver);
        const tooLong = await refusalOf(driver.settle([abandon(first, maxAbandonDelayMs + 1_000)]));
        assert.equal(tooLong, maxAbandonDelayMs === 0 ? "Unsupported" : "InvalidArgument");
        if (maxAbandonDelayMs > 0) {
          const delayMs = Math.min(2 * harness.minLeaseMs, maxAbandonDelayMs);
          expectApplied(driver, (await settle(driver, abandon(first, delayMs)))[0]);
          await harness.wait(delayMs / 2);
          await expectNothing(harness, driver, delayMs / 4);
          await pass(harness, delayMs / 4);
          const again = await receiveOne(harness, driver);
          assert.equal(again.body, first.body);
          assert.equal(again.attributes["kept"], "yes");
          assert.equal(
            again.deliveryCount,
            first.deliveryCount === undefined ? undefined : 2,
            "a copy carries the count",
          );
          assert.equal(again.contentType, first.contentType);
        }
      },
    },
    {
      name: "a delay that is no time is refused, and the message stays held",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        for (const delayMs of [-1, Number.NaN]) {
          assert.equal(await refusalOf(driver.settle([abandon(delivery, delayMs)])), "InvalidArgument");
        }
        await complete(driver, delivery);
      },
    },
    {
      name: "one bad entry of a batch fails alone",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("a"), message("b"));
        const [first, last] = await receive(harness, driver, { count: 2 });
        assert.ok(first !== undefined && last !== undefined);
        const bad = { ...first, token: "not a token" };
        const leaseMs = harness.minLeaseMs;
        const extended = await driver.extend([first, bad, last].map((delivery) => ({ delivery, leaseMs })));
        expectExtended(extended[0]);
        assert.equal(extended[1]?.status === "failed" && extended[1].code, "InvalidArgument");
        expectExtended(extended[2]);
        const settled = await settle(
          driver,
          ...[first, bad, last].map((delivery) => ({ verb: "complete", delivery }) as const),
        );
        expectApplied(driver, settled[0]);
        assert.equal(settled[1]?.status === "failed" && settled[1].code, "InvalidArgument");
        expectApplied(driver, settled[2]);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "a malformed token fails with its own code, whatever the verb, and changes nothing",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        for (const token of ["", "x", `${delivery.token}x`, delivery.token.slice(0, -1), "\u0000", "null"]) {
          const bad = { ...delivery, token };
          const verbs = [
            { verb: "complete", delivery: bad } as const,
            abandon(bad, 0),
            deadLetter(bad, "code", "text"),
          ];
          for (const item of verbs)
            assert.equal(await refusalOf(driver.settle([item])), "InvalidArgument", `${item.verb} ${token}`);
          const extending = driver.extend([{ delivery: bad, leaseMs: harness.minLeaseMs }]);
          assert.equal(await refusalOf(extending), "InvalidArgument", `extend ${token}`);
        }
        await complete(driver, delivery);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "each verb of a mixed batch is applied to its own delivery",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("a"), message("b"), message("c"));
        const deliveries = await receive(harness, driver, { count: 3 });
        const [first, second, third] = deliveries;
        assert.ok(first !== undefined && second !== undefined && third !== undefined);
        const outcomes = await settle(
          driver,
          { verb: "complete", delivery: first },
          abandon(second, 0),
          deadLetter(third, "mixed", "one of three"),
        );
        for (const outcome of outcomes) expectApplied(driver, outcome);
        assert.equal((await receiveOne(harness, driver)).body, second.body);
        await expectNothing(harness, driver);
      },
    },
    {
      name: "the same delivery twice in one batch has two outcomes and one effect",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("a"), message("b"));
        const [first, second] = await receive(harness, driver, { count: 2 });
        assert.ok(first !== undefined && second !== undefined);
        const leaseMs = harness.minLeaseMs;
        const extended = await driver.extend([first, first, second].map((delivery) => ({ delivery, leaseMs })));
        assert.equal(extended.length, 3);
        for (const outcome of extended) expectExtended(outcome);
        const items = [first, second, first].map((delivery) => ({ verb: "complete", delivery }) as const);
        const outcomes = await settle(driver, ...items);
        expectApplied(driver, outcomes[0]);
        expectApplied(driver, outcomes[1]);
        expectNoFailure(outcomes[2]);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "two live deliveries of one message id are told apart by their tokens",
      unless: unlessAble("duplicate"),
      async run(harness) {
        const { driver, act } = await harness.open();
        await send(driver, message("one"));
        const first = await receiveOne(harness, driver, 4 * harness.minLeaseMs);
        await act("duplicate", first.messageId);
        const second = await receiveOne(harness, driver, 4 * harness.minLeaseMs);
        assert.equal(second.messageId, first.messageId);
        assert.notEqual(second.token, first.token);
        const leaseMs = harness.minLeaseMs;
        for (const outcome of await driver.extend([first, second].map((delivery) => ({ delivery, leaseMs })))) {
          expectNoFailure(outcome);
        }
        const outcomes = await settle(
          driver,
          { verb: "complete", delivery: first },
          { verb: "complete", delivery: second },
        );
        for (const outcome of outcomes) expectNoFailure(outcome);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "a batch longer than declared is refused as a whole",
      async run(harness) {
        const { driver } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        const many = Array.from({ length: driver.capabilities.maxBatch + 1 }, () => delivery);
        const leaseMs = harness.minLeaseMs;
        await assert.rejects(driver.extend(many.map((one) => ({ delivery: one, leaseMs }))), {
          code: "InvalidArgument",
        });
        const completes = many.map((one) => ({ verb: "complete", delivery: one }) as const);
        await assert.rejects(driver.settle(completes), { code: "InvalidArgument" });
        await pass(harness, leaseMs);
        assert.equal(await drain(harness, driver), 1, "nothing of the batch was applied");
      },
    },
  ],
};
