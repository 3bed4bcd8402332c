import assert from "node:assert/strict";
import type { DeadLetter, DeadLetters, QueueDriver } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { QueueHarness } from "./harness.ts";
import {
  abandon,
  complete,
  deadLetter,
  drain,
  expectApplied,
  expectNoFailure,
  expectNothing,
  message,
  pass,
  receive,
  receiveOne,
  send,
  settle,
  unlessAble,
} from "./support.ts";

/** Reasons that some broker would refuse as they are. */
const AWKWARD_REASONS = [
  "",
  "\u0000\u0007\u001b[31m red\r\n\tnext line",
  "half \ud800 a pair, \ufffe\uffff",
  "ünï 世界 👩‍👩‍👧",
  '<b>&amp;</b> "quoted"',
  "x".repeat(20_000),
  "世".repeat(5_000),
];

const unless = unlessAble("dead letters");

function deadLettersOf(driver: QueueDriver): DeadLetters {
  assert.ok(driver.deadLetters !== undefined, "a queue with dead letters lets one look at them");
  return driver.deadLetters;
}

/** Looks until `count` dead letters are there: some brokers are slow to show them. */
async function look(harness: QueueHarness, driver: QueueDriver, count: number): Promise<readonly DeadLetter[]> {
  const found: DeadLetter[] = [];
  for (let poll = 0; found.length < count && poll < 50; poll++) {
    if (poll > 0) await harness.wait(harness.toleranceMs + 1);
    const max = Math.min(count - found.length, driver.capabilities.maxBatch);
    found.push(...(await harness.until(deadLettersOf(driver).look({ max, leaseMs: 4 * harness.minLeaseMs }))));
  }
  assert.equal(found.length, count, `expected ${count} dead letters, found ${found.length}`);
  return found;
}

async function lookOne(harness: QueueHarness, driver: QueueDriver): Promise<DeadLetter> {
  return (await look(harness, driver, 1))[0] as DeadLetter;
}

async function bury(harness: QueueHarness, driver: QueueDriver, id: string, fence?: number): Promise<void> {
  await send(driver, message(id, { attributes: { kept: "yes" } }));
  const delivery = await receiveOne(harness, driver);
  expectApplied(driver, (await settle(driver, deadLetter(delivery, "poison", "cannot be handled", fence)))[0]);
}

export const deadLetters: Suite<QueueHarness> = {
  subject: "dead letters",
  cases: [
    {
      name: "a dead-lettered message leaves the queue and can be looked at, with its reason and its fence",
      unless,
      async run(harness) {
        const { driver } = await harness.open();
        await bury(harness, driver, "one", 7);
        assert.equal(await drain(harness, driver), 0);
        const { delivery, reason, fence } = await lookOne(harness, driver);
        assert.equal(delivery.body, message("one").body);
        assert.equal(delivery.contentType, message("one").contentType);
        assert.equal(delivery.attributes["kept"], "yes");
        assert.deepEqual(reason, { code: "poison", text: "cannot be handled" });
        assert.equal(fence, 7);
      },
    },
    {
      name: "an awkward reason is reduced to printable text that fits, and never keeps a message from its end",
      unless,
      async run(harness) {
        const { driver } = await harness.open();
        for (const [index, text] of AWKWARD_REASONS.entries()) {
          await send(driver, message(`letter-${index}`));
          const delivery = await receiveOne(harness, driver);
          expectApplied(driver, (await settle(driver, deadLetter(delivery, "poison", text)))[0]);
          const letter = await lookOne(harness, driver);
          assert.equal(letter.reason?.code, "poison");
          const shown = letter.reason?.text ?? "";
          assert.doesNotMatch(shown, /[\p{Cc}\p{Cs}\ufffe\uffff]/u);
          assert.ok(
            Buffer.byteLength(shown) <= driver.capabilities.deadLetterReasonBytes,
            `${Buffer.byteLength(shown)} bytes`,
          );
          if (text === "") assert.equal(shown, "");
          else
            assert.equal(
              shown.slice(0, 2),
              text
                .replaceAll(/[\p{Cc}\p{Cs}]/gu, " ")
                .trim()
                .slice(0, 2),
            );
          for (const outcome of await deadLettersOf(driver).purge([letter])) expectApplied(driver, outcome);
        }
      },
    },
    {
      name: "a look is a lease: what is looked at is not shown twice, and comes back",
      unless,
      async run(harness) {
        const { driver, another } = await harness.open();
        await bury(harness, driver, "one");
        const leaseMs = harness.minLeaseMs;
        const [first] = await harness.until(deadLettersOf(driver).look({ max: 1, leaseMs }));
        assert.ok(first !== undefined);
        assert.deepEqual(await harness.until(deadLettersOf(await another()).look({ max: 1, leaseMs })), []);
        await pass(harness, first.delivery.leaseMs);
        assert.equal((await lookOne(harness, driver)).delivery.messageId, first.delivery.messageId);
      },
    },
    {
      name: "a look is bounded, and every letter is found",
      unless,
      async run(harness) {
        const { driver } = await harness.open();
        const ids = ["a", "b", "c"];
        for (const id of ids) await bury(harness, driver, id);
        const two = await harness.until(deadLettersOf(driver).look({ max: 2, leaseMs: 4 * harness.minLeaseMs }));
        assert.ok(two.length <= 2);
        const letters = [...two, ...(await look(harness, driver, 3 - two.length))];
        assert.deepEqual(
          letters.map((letter) => letter.delivery.body).sort(),
          ids.map((id) => message(id).body),
        );
      },
    },
    {
      name: "redrive by verb sends back what was there, without the marks of a dead letter",
      unless,
      async run(harness) {
        const { driver } = await harness.open();
        await bury(harness, driver, "one", 7);
        const letter = await lookOne(harness, driver);
        for (const outcome of await deadLettersOf(driver).redrive([letter])) expectApplied(driver, outcome);
        const delivery = await receiveOne(harness, driver);
        assert.equal(delivery.body, message("one").body);
        assert.equal(delivery.contentType, message("one").contentType);
        assert.deepEqual(
          Object.keys(delivery.attributes).filter((name) => name.startsWith("deadletter")),
          [],
        );
        assert.equal(delivery.attributes["kept"], "yes");
        await complete(driver, delivery);
        await pass(harness, 4 * harness.minLeaseMs);
        assert.deepEqual(await harness.until(deadLettersOf(driver).look({ max: 1, leaseMs: harness.minLeaseMs })), []);
      },
    },
    {
      name: "redrive by verb is not swallowed by duplicate detection",
      unless: unlessAble("dead letters", "duplicate detection"),
      async run(harness) {
        const { driver } = await harness.open({ duplicateWindowMs: 600_000 });
        await bury(harness, driver, "one");
        await deadLettersOf(driver).redrive([await lookOne(harness, driver)]);
        const delivery = await receiveOne(harness, driver);
        expectApplied(driver, (await settle(driver, deadLetter(delivery, "poison", "again")))[0]);
        await deadLettersOf(driver).redrive([await lookOne(harness, driver)]);
        await receiveOne(harness, driver);
      },
    },
    {
      name: "a message redriven by hand carries the fence at which it was dead-lettered",
      unless: unlessAble("dead letters", "redrive by hand"),
      async run(harness) {
        const { driver, act } = await harness.open();
        await bury(harness, driver, "one", 7);
        await act("redrive by hand", "");
        const delivery = await receiveOne(harness, driver);
        assert.equal(delivery.body, message("one").body);
        assert.equal(delivery.attributes["deadletterfence"], "7");
      },
    },
    {
      name: "purged letters are gone for good, the others stay",
      unless,
      async run(harness) {
        const { driver } = await harness.open();
        await bury(harness, driver, "a");
        await bury(harness, driver, "b");
        const [first, second] = await look(harness, driver, 2);
        for (const outcome of await deadLettersOf(driver).purge([first as DeadLetter])) expectApplied(driver, outcome);
        await pass(harness, 4 * harness.minLeaseMs);
        assert.equal((await lookOne(harness, driver)).delivery.body, second?.delivery.body);
        assert.deepEqual(await harness.until(deadLettersOf(driver).look({ max: 1, leaseMs: harness.minLeaseMs })), []);
      },
    },
    {
      name: "a message delivered as often as the broker allows becomes a dead letter without a fence",
      unless: unlessAble("dead letters", "delivery limit"),
      async run(harness) {
        const maxDeliveries = 5;
        const { driver } = await harness.open({ maxDeliveries });
        await send(driver, message("one"));
        for (let count = 1; count <= maxDeliveries; count++) {
          const delivery = await receiveOne(harness, driver);
          if (count % 2 === 0) await pass(harness, delivery.leaseMs);
          else await settle(driver, abandon(delivery, 0));
        }
        await expectNothing(harness, driver);
        const letter = await lookOne(harness, driver);
        assert.equal(letter.delivery.body, message("one").body);
        assert.equal(letter.fence, undefined);
      },
    },
    {
      name: "a dead-letter by a former holder loses nothing and fails nobody",
      async run(harness) {
        const { driver, another } = await harness.open();
        const other = await another();
        await send(driver, message("one"));
        const former = await receiveOne(harness, driver);
        await pass(harness, former.leaseMs);
        const holder = await receiveOne(harness, other);
        const [outcome] = await settle(driver, deadLetter(former, "poison", "too late", 1));
        expectNoFailure(outcome);
        expectNoFailure((await settle(other, { verb: "complete", delivery: holder }))[0]);
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "a queue without dead letters completes what is dead-lettered, and shows none",
      async run(harness) {
        const { driver } = await harness.open();
        if (driver.capabilities.deadLetter !== "store") {
          assert.notEqual(driver.deadLetters, undefined);
          return;
        }
        assert.equal(driver.deadLetters, undefined);
        await bury(harness, driver, "one");
        assert.equal(await drain(harness, driver), 0);
      },
    },
    {
      name: "looking at dead letters needs a sensible bound",
      unless,
      async run(harness) {
        const { driver } = await harness.open();
        for (const max of [0, -1, 1.5, Number.NaN]) {
          await assert.rejects(deadLettersOf(driver).look({ max, leaseMs: harness.minLeaseMs }), {
            code: "InvalidArgument",
          });
        }
        assert.deepEqual(await receive(harness, driver, { count: 0 }), []);
      },
    },
  ],
};
