import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openAmqp } from "../testing/amqp.ts";
import { openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SECOND = 1_000;
const SESSION_FILTER = "com.microsoft:session-filter";
/** .NET counts ticks of 100 ns from the year 1. */
const TICKS_AT_EPOCH = 621_355_968_000_000_000n;

describe("links of the Service Bus server", () => {
  it("1.3: a sender's link gets its target back, and how large a message may be", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createQueue("q");
    servicebus.createQueue("large", { maxMessageBytes: 1_048_576 });
    const { link } = await amqp.sender("q", { source: { address: "me" } });
    assert.equal(link.target.address, "q");
    assert.equal(link.source.address, "me");
    assert.equal(Number(link.max_message_size), 262_144);
    assert.equal(Number((await amqp.sender("large")).link.max_message_size), 1_048_576);
  });

  it("1.3: a receiver's link gets its source, its target and its modes back", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createQueue("q");
    const { link } = await amqp.receiver("q", { target: "me" });
    assert.equal(link.source.address, "q");
    assert.equal(link.target.address, "me");
    assert.deepEqual([link.snd_settle_mode, link.rcv_settle_mode], [0, 1]);
    const taking = await amqp.receiver("q", { snd_settle_mode: 1, rcv_settle_mode: 0 });
    assert.deepEqual([taking.link.snd_settle_mode, taking.link.rcv_settle_mode], [1, 0]);
  });

  it("1.3: every kind of address can be attached to, in any capitals", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createQueue("q");
    servicebus.createTopic("t");
    servicebus.createSubscription("t", "s");
    for (const address of [
      "q",
      "Q/$DEADLETTERQUEUE",
      "q/$Transfer/$DeadLetterQueue",
      "t/Subscriptions/s",
      "T/SUBSCRIPTIONS/S",
      "t/subscriptions/s/$deadletterqueue",
      "t/Subscriptions/s/$Transfer/$DeadLetterQueue",
    ]) {
      const { link } = await amqp.receiver(address);
      assert.equal(link.source.address, address);
      const { properties } = await amqp.request(address, "peek-message", {});
      assert.notEqual(properties["errorCondition"], "amqp:not-found");
    }
    await amqp.sender("t");
  });

  it("1.3: what is not there is refused with amqp:not-found, in the words that the SDK looks for", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createTopic("t");
    const refusals = [
      await amqp.refusal("nowhere"),
      await amqp.refusal("t/Subscriptions/nowhere"),
      await amqp.refusal("nowhere/$DeadLetterQueue"),
      await amqp.senderRefusal("nowhere"),
    ];
    for (const { condition, description } of refusals) {
      assert.equal(condition, "amqp:not-found");
      assert.match(description ?? "", /The messaging entity .* could not be found/);
    }
  });

  it("1.3: links with and without a session are refused with amqp:not-allowed where they have no place", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createQueue("plain");
    servicebus.createQueue("sessions", { requiresSession: true });
    const refusals = [
      await amqp.refusal({ address: "plain", filter: { [SESSION_FILTER]: "a" } }),
      await amqp.refusal({ address: "plain", filter: { [SESSION_FILTER]: null } }),
      await amqp.refusal("sessions"),
    ];
    assert.deepEqual(
      refusals.map(({ condition }) => condition),
      ["amqp:not-allowed", "amqp:not-allowed", "amqp:not-allowed"],
    );
  });

  it("1.3: a session's link says which it got, and until when in ticks of .NET", async (test) => {
    const { amqp, servicebus, clock } = await openAttach(test);
    servicebus.createQueue("q", { requiresSession: true, lockDurationMs: 30 * SECOND });
    const { link } = await amqp.receiver({ address: "q", filter: { [SESSION_FILTER]: "a" } });
    assert.equal(link.source.filter?.[SESSION_FILTER], "a");
    const ticks = link.properties["com.microsoft:locked-until-utc"];
    assert.ok(Buffer.isBuffer(ticks), "an eight-byte long");
    const lockedUntil = BigInt(Math.floor(clock.now()) + 30 * SECOND);
    assert.equal(ticks.readBigInt64BE(), lockedUntil * 10_000n + TICKS_AT_EPOCH);
  });

  it("1.3: the next session is told by the filter of the reply", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createQueue("q", { requiresSession: true });
    await (await amqp.sender("q")).send({ body: "a", group_id: "first" });
    const { link } = await amqp.receiver({ address: "q", filter: { [SESSION_FILTER]: null } });
    assert.equal(link.source.filter?.[SESSION_FILTER], "first");
  });

  it("1.3: a session that is held is refused with com.microsoft:session-cannot-be-locked", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createQueue("q", { requiresSession: true });
    const source = { address: "q", filter: { [SESSION_FILTER]: "a" } };
    const { link } = await amqp.receiver(source);
    assert.equal((await amqp.refusal(source)).condition, "com.microsoft:session-cannot-be-locked");
    link.close();
    await until(() => link.is_closed());
    await amqp.receiver(source);
  });

  it("1.3: who waits for the next session waits as long as it says, and is told com.microsoft:timeout", async (test) => {
    const { amqp, servicebus, clock } = await openAttach(test);
    servicebus.createQueue("q", { requiresSession: true });
    const source = { address: "q", filter: { [SESSION_FILTER]: null } };
    let refused = false;
    const refusal = amqp.refusal(source, { properties: { "com.microsoft:timeout": 5 * SECOND } }).finally(() => {
      refused = true;
    });
    await until(() => servicebus.calls.of("Attach").open === 1);
    clock.advance(5 * SECOND - 1);
    await amqp.request("q", "peek-message", {});
    assert.equal(refused, false);
    clock.advance(1);
    assert.equal((await refusal).condition, "com.microsoft:timeout");
  });

  it("1.3: a session's messages stop coming when its lock is over, and the link ends", async (test) => {
    const { amqp, servicebus, clock } = await openAttach(test);
    servicebus.createQueue("q", { requiresSession: true, lockDurationMs: 30 * SECOND });
    const receiver = await amqp.receiver({ address: "q", filter: { [SESSION_FILTER]: "a" } });
    clock.advance(30 * SECOND);
    assert.equal((await receiver.closed)?.condition, "com.microsoft:session-lock-lost");
  });

  it("1.4 (1): two links under one name on two connections are two links", async (test) => {
    const { amqp, servicebus } = await openAttach(test);
    servicebus.createQueue("q");
    const other = await openAmqp(test, servicebus);
    const [mine, theirs] = [await amqp.receiver("q", { name: "same" }), await other.receiver("q", { name: "same" })];
    const sender = await amqp.sender("q");
    for (const { grant } of [mine, theirs]) grant(1);
    for (const body of ["a", "b"]) await sender.send({ body });
    const taken = [await mine.next(), await theirs.next()].map(({ message }) => message.body);
    assert.deepEqual(taken.toSorted(), ["a", "b"]);
  });
});

async function openAttach(test: Parameters<typeof openServicebus>[0]) {
  const { servicebus, clock } = await openServicebus(test);
  return { servicebus, clock, amqp: await openAmqp(test, servicebus) };
}
