import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const LONG_WAIT_MS = 30_000;
const SHORT_WAIT_MS = 50;

describe("receiving from a queue of the Service Bus server", () => {
  it("1.2: a receive of nothing comes back empty", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver } = queue();
    assert.deepEqual(await receiver.receiveMessages(10, { maxWaitTimeInMs: SHORT_WAIT_MS }), []);
  });

  it("1.2: a receive that waits is woken by a send", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { receiver, send } = queue();
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: LONG_WAIT_MS });
    await until(() => servicebus.calls.of("Receive").calls === 1);
    await send("late");
    assert.deepEqual(bodies(await waiting), ["late"]);
  });

  it("1.3: a receive of more than there is brings what there is, and leaves no credit behind", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, acts, take } = queue();
    await send("a", "b", "c");
    assert.deepEqual(bodies(await receiver.receiveMessages(10, { maxWaitTimeInMs: LONG_WAIT_MS })), ["a", "b", "c"]);
    await send("d");
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 3, delayed: 0 });
    assert.deepEqual(bodies(await take(1)), ["d"]);
  });

  it("1.3: a receive of fewer than there are locks no more than those", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, acts, take } = queue();
    await send("a", "b", "c");
    assert.deepEqual(bodies(await take(2)), ["a", "b"]);
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 2, delayed: 0 });
    assert.deepEqual(bodies(await take(1)), ["c"]);
  });

  it("1.2: one link serves twenty receives in a row, and empty ones between them", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { receiver, send, one, none } = queue();
    await send("first");
    await receiver.completeMessage(await one());
    const attaches = servicebus.calls.of("Attach").calls;
    for (let round = 0; round < 20; round++) {
      await send(`round ${round}`);
      const message = await one();
      assert.equal(String(message.body), `round ${round}`);
      await receiver.completeMessage(message);
      if (round % 5 === 0) await none();
    }
    assert.equal(servicebus.calls.of("Attach").calls, attaches);
  });

  it("1.2: the SDK refuses a second receive on a receiver that waits", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { receiver, send } = queue();
    const waiting = receiver.receiveMessages(1, { maxWaitTimeInMs: LONG_WAIT_MS });
    await until(() => servicebus.calls.of("Receive").calls === 1);
    await assert.rejects(receiver.receiveMessages(1), /already receiving/);
    await send("a");
    assert.equal((await waiting).length, 1);
  });

  it("1.3: receive-and-delete gives messages away for good, without a lock", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, take, open, none, acts } = queue();
    await send("a", "b");
    const [a, b] = await take(2, open({ receiveMode: "receiveAndDelete" }));
    assert.deepEqual([String(a?.body), String(b?.body)], ["a", "b"]);
    assert.equal(a?.lockToken, undefined);
    assert.equal(a?.lockedUntilUtc, undefined);
    assert.equal(a?.deliveryCount, 0);
    assert.deepEqual(acts.messageIds(), []);
    clock.advance(3_600_000);
    await none();
  });

  it("1.2: three receivers on two connections share a queue, and none gets what another has", async (test) => {
    const { queue, connect } = await openServicebus(test);
    const { sender, take, open } = queue();
    const other = connect();
    const texts = Array.from({ length: 30 }, (_, index) => `message ${index}`);
    const taken = [open(), open({}, other), open({}, other)].map(async (receiver) => {
      const messages = await take(10, receiver);
      for (const message of messages) await receiver.completeMessage(message);
      return bodies(messages);
    });
    await sender().sendMessages(texts.map((text) => ({ body: Buffer.from(text) })));
    assert.deepEqual((await Promise.all(taken)).flat().toSorted(), texts.toSorted());
  });

  it("1.4 (3): no more is locked than the SDK has room for", async (test) => {
    const { queue } = await openServicebus(test);
    const { sender, receiver, acts } = queue();
    const thousand = Array.from({ length: 1_000 }, (_, index) => ({ body: index }));
    for (let round = 0; round < 3; round++) await sender().sendMessages(thousand);
    const messages = await receiver.receiveMessages(3_000, { maxWaitTimeInMs: LONG_WAIT_MS });
    assert.equal(messages.length, 2_048);
    assert.deepEqual(acts.counts(), { visible: 952, inFlight: 2_048, delayed: 0 });
  });

  it("1.2: peeking shows all that is there, in order, and takes no lock", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one } = queue();
    await send("locked", "active");
    const locked = await one();
    await receiver.completeMessage(locked);
    await send("more");
    await one();
    const peeked = await receiver.peekMessages(10);
    assert.deepEqual(bodies(peeked), ["active", "more"]);
    for (const message of peeked) {
      assert.equal(message.lockToken, undefined);
      assert.equal(message.lockedUntilUtc, undefined);
      assert.equal(message.state, "active");
      assert.equal(message.enqueuedTimeUtc?.getTime(), Math.floor(clock.now()));
    }
  });

  it("1.2: peeking goes on where it stopped, or where it is told to", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send } = queue();
    await send("a", "b", "c");
    const [first] = await receiver.peekMessages(1);
    assert.equal(String(first?.body), "a");
    assert.deepEqual(bodies(await receiver.peekMessages(1)), ["b"]);
    assert.deepEqual(bodies(await receiver.peekMessages(5)), ["c"]);
    assert.deepEqual(await receiver.peekMessages(5), []);
    const fromSequenceNumber = first?.sequenceNumber;
    assert.ok(fromSequenceNumber);
    assert.deepEqual(bodies(await receiver.peekMessages(2, { fromSequenceNumber })), ["a", "b"]);
  });
});
