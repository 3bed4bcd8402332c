import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { FaultyVerb, QueueHarness } from "./harness.ts";
import {
  abandon,
  complete,
  drain,
  everyVerb,
  expectNothing,
  message,
  pass,
  receiveOne,
  refusalOf,
  send,
  unlessAble,
} from "./support.ts";

/** What a caller may hear when nobody knows whether the call was applied. */
const UNCLEAR: readonly unknown[] = ["Unavailable", "DeadlineExceeded"];

export const failures: Suite<QueueHarness> = {
  subject: "failures",
  cases: [
    {
      name: "every verb on a queue that does not exist says NotFound",
      async run(harness) {
        const driver = await harness.openMissing();
        for (const [verb, call] of Object.entries(everyVerb(driver, harness.minLeaseMs))) {
          assert.equal(await refusalOf(call()), "NotFound", verb);
        }
      },
    },
    {
      name: "every verb under wrong credentials says PermissionDenied",
      needs: ["credentials"],
      async run(harness) {
        const driver = await harness.openWithWrongCredentials();
        for (const [verb, call] of Object.entries(everyVerb(driver, harness.minLeaseMs))) {
          assert.equal(await refusalOf(call()), "PermissionDenied", verb);
        }
      },
    },
    {
      name: "every verb of a closed client says Unavailable, and closing twice is fine",
      async run(harness) {
        const { driver, another } = await harness.open();
        const other = await another();
        await other.close();
        await other.close();
        for (const [verb, call] of Object.entries(everyVerb(other, harness.minLeaseMs))) {
          assert.equal(await refusalOf(call()), "Unavailable", verb);
        }
        if (other.deadLetters !== undefined) {
          await assert.rejects(other.deadLetters.look({ max: 1, leaseMs: harness.minLeaseMs }), {
            code: "Unavailable",
          });
        }
        await send(driver, message("one"));
        await receiveOne(harness, driver);
      },
    },
    {
      name: "a throttled call says ResourceExhausted and changes nothing",
      needs: ["faults"],
      async run(harness) {
        const { driver, failNext } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        const calls: Readonly<Record<FaultyVerb, () => Promise<unknown>>> = {
          send: () => driver.send([message("two")]),
          receive: () => driver.receive({ max: 1, waitMs: 0, leaseMs: harness.minLeaseMs }),
          extend: () => driver.extend([{ delivery, leaseMs: 4 * harness.minLeaseMs }]),
          settle: () => driver.settle([{ verb: "complete", delivery }]),
        };
        for (const [verb, call] of Object.entries(calls)) {
          failNext(verb as FaultyVerb, "throttled");
          assert.equal(await refusalOf(call()), "ResourceExhausted", verb);
        }
        await pass(harness, delivery.leaseMs);
        assert.equal((await receiveOne(harness, driver)).messageId, delivery.messageId);
        await expectNothing(harness, driver);
      },
    },
    {
      name: "a send whose request is lost says so, and nothing was sent",
      needs: ["faults"],
      async run(harness) {
        const { driver, failNext } = await harness.open();
        failNext("send", "request lost");
        assert.ok(UNCLEAR.includes(await refusalOf(driver.send([message("one")]))));
        await expectNothing(harness, driver);
      },
    },
    {
      name: "a send whose answer is lost says the same, and the message is there",
      needs: ["faults"],
      async run(harness) {
        const { driver, failNext } = await harness.open();
        failNext("send", "answer lost");
        assert.ok(UNCLEAR.includes(await refusalOf(driver.send([message("one")]))));
        assert.equal((await receiveOne(harness, driver)).body, message("one").body);
      },
    },
    {
      name: "a receive whose answer is lost strands its messages for no longer than a lease",
      needs: ["faults"],
      async run(harness) {
        const { driver, failNext } = await harness.open();
        await send(driver, message("one"));
        failNext("receive", "answer lost");
        const leaseMs = harness.minLeaseMs;
        assert.ok(UNCLEAR.includes(await refusalOf(driver.receive({ max: 1, waitMs: 0, leaseMs }))));
        await pass(harness, leaseMs);
        assert.equal((await receiveOne(harness, driver)).body, message("one").body);
      },
    },
    {
      name: "a settle whose request is lost leaves the message to come again",
      needs: ["faults"],
      async run(harness) {
        const { driver, failNext } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        failNext("settle", "request lost");
        assert.ok(UNCLEAR.includes(await refusalOf(driver.settle([{ verb: "complete", delivery }]))));
        await pass(harness, delivery.leaseMs);
        assert.equal(await drain(harness, driver), 1);
      },
    },
    {
      name: "a settle whose answer is lost was applied, and can be made again",
      needs: ["faults"],
      async run(harness) {
        const { driver, failNext } = await harness.open();
        await send(driver, message("one"), message("two"));
        const first = await receiveOne(harness, driver);
        failNext("settle", "answer lost");
        assert.ok(UNCLEAR.includes(await refusalOf(driver.settle([{ verb: "complete", delivery: first }]))));
        assert.equal(await refusalOf(driver.settle([{ verb: "complete", delivery: first }])), undefined);
        const second = await receiveOne(harness, driver);
        failNext("settle", "answer lost");
        assert.ok(UNCLEAR.includes(await refusalOf(driver.settle([abandon(second, 0)]))));
        assert.equal((await receiveOne(harness, driver)).messageId, second.messageId);
        await pass(harness, harness.minLeaseMs);
        assert.equal(await drain(harness, driver), 1);
      },
    },
    {
      name: "an extension whose answer is lost holds all the same",
      needs: ["faults"],
      unless: unlessAble("lost connection"),
      async run(harness) {
        const { driver, failNext } = await harness.open();
        await send(driver, message("one"));
        const delivery = await receiveOne(harness, driver);
        await harness.wait(delivery.leaseMs / 2);
        failNext("extend", "answer lost");
        assert.ok(UNCLEAR.includes(await refusalOf(driver.extend([{ delivery, leaseMs: delivery.leaseMs }]))));
        await harness.wait(delivery.leaseMs * 0.7);
        await expectNothing(harness, driver, delivery.leaseMs / 10);
        await complete(driver, delivery);
      },
    },
    {
      name: "a broker that was stopped is Unavailable, and serves what it had once it runs again",
      needs: ["restart"],
      async run(harness) {
        const { driver, another, stop, start } = await harness.open();
        await send(driver, message("one"), message("two"));
        const held = await receiveOne(harness, driver, 60 * harness.minLeaseMs);
        await stop();
        const other = await another();
        for (const [verb, call] of Object.entries(everyVerb(other, harness.minLeaseMs))) {
          assert.ok(UNCLEAR.includes(await refusalOf(call())), verb);
        }
        await start();
        assert.notEqual((await receiveOne(harness, other)).body, held.body);
      },
    },
    {
      name: "a receive that waits while the broker stops ends, and says Unavailable",
      needs: ["restart"],
      async run(harness) {
        const { driver, stop } = await harness.open();
        const waiting = refusalOf(driver.receive({ max: 1, waitMs: 15_000, leaseMs: harness.minLeaseMs }));
        await harness.wait(100);
        await stop();
        assert.ok(UNCLEAR.includes(await harness.until(waiting)));
      },
    },
  ],
};
