import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

describe("scheduling on the Service Bus server", () => {
  it("1.2: a scheduled message comes at its time and not before", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, one, none, acts } = queue();
    const due = new Date(Math.floor(clock.now()) + HOUR);
    await sender().scheduleMessages({ body: Buffer.from("a") }, due);
    assert.deepEqual(acts.counts(), { visible: 0, inFlight: 0, delayed: 1 });
    clock.advance(HOUR - 1);
    await none();
    clock.advance(1);
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
    const message = await one();
    assert.equal(message.scheduledEnqueueTimeUtc?.getTime(), due.getTime());
    assert.equal(message.state, "active");
    assert.equal(message.deliveryCount, 0);
  });

  it("1.2: a message sent with a time is scheduled too", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, send, take, none } = queue();
    const due = new Date(Math.floor(clock.now()) + HOUR);
    await send({ body: Buffer.from("single"), scheduledEnqueueTimeUtc: due });
    await sender().sendMessages([{ body: Buffer.from("of a batch"), scheduledEnqueueTimeUtc: due }]);
    await none();
    clock.advance(HOUR);
    const messages = await take(2);
    assert.deepEqual(bodies(messages).toSorted(), ["of a batch", "single"]);
    for (const message of messages) assert.equal(message.scheduledEnqueueTimeUtc?.getTime(), due.getTime());
  });

  it("1.2: a time that has passed is now", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, one, sender, take } = queue();
    const past = new Date(Math.floor(clock.now()) - HOUR);
    await send({ body: Buffer.from("a"), scheduledEnqueueTimeUtc: past });
    assert.equal(String((await one()).body), "a");
    await sender().scheduleMessages({ body: Buffer.from("b") }, past);
    assert.deepEqual(bodies(await take(1)), ["b"]);
  });

  it("1.2: a receive that waits gets the message at its time", async (test) => {
    const { queue, clock, servicebus } = await openServicebus(test);
    const { sender, one } = queue();
    await sender().scheduleMessages({ body: "a" }, new Date(Math.floor(clock.now()) + HOUR));
    const waiting = one();
    await until(() => servicebus.calls.of("Receive").calls === 1);
    clock.advance(HOUR);
    assert.equal((await waiting).deliveryCount, 0);
  });

  it("1.3: scheduling answers one number for each message, in order", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, receiver } = queue();
    const due = new Date(Math.floor(clock.now()) + HOUR);
    const numbers = await sender().scheduleMessages([{ body: Buffer.from("a") }, { body: Buffer.from("b") }], due);
    assert.equal(numbers.length, 2);
    const peeked = await receiver.peekMessages(5);
    assert.deepEqual(bodies(peeked), ["a", "b"]);
    assert.deepEqual(
      peeked.map(({ sequenceNumber }) => sequenceNumber?.toString()),
      numbers.map(String),
    );
    for (const message of peeked) {
      assert.equal(message.state, "scheduled");
      assert.equal(message.scheduledEnqueueTimeUtc?.getTime(), due.getTime());
    }
  });

  it("1.3: a scheduled message is taken back by its number", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, take, acts } = queue();
    const due = new Date(Math.floor(clock.now()) + HOUR);
    const [first] = await sender().scheduleMessages([{ body: Buffer.from("a") }, { body: Buffer.from("b") }], due);
    assert.ok(first);
    await sender().cancelScheduledMessages(first);
    assert.equal(acts.counts().delayed, 1);
    clock.advance(HOUR);
    assert.deepEqual(bodies(await take(1)), ["b"]);
    assert.equal(acts.messageIds().length, 1);
  });

  it("1.3: taking back what is not scheduled any more is refused with MessageNotFound", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, one } = queue();
    const due = new Date(Math.floor(clock.now()) + HOUR);
    const [cancelled] = await sender().scheduleMessages([{ body: "a" }], due);
    const [arrived] = await sender().scheduleMessages([{ body: "b" }], due);
    assert.ok(cancelled && arrived);
    await sender().cancelScheduledMessages(cancelled);
    const missing = { code: "MessageNotFound", retryable: false };
    await assert.rejects(sender().cancelScheduledMessages(cancelled), missing);
    clock.advance(HOUR);
    await one();
    await assert.rejects(sender().cancelScheduledMessages(arrived), missing);
    await assert.rejects(sender().cancelScheduledMessages(arrived.add(1_000)), missing);
  });

  it("SB-43: what is too large is not scheduled either, nor what comes with it", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, acts } = queue({ maxMessageBytes: 1_024 });
    const due = new Date(Math.floor(clock.now()) + HOUR);
    const messages = [{ body: Buffer.alloc(10) }, { body: Buffer.alloc(1_025) }];
    await assert.rejects(sender().scheduleMessages(messages, due), { code: "MessageSizeExceeded" });
    assert.deepEqual(acts.messageIds(), []);
  });

  // learn.microsoft.com/azure/service-bus-messaging/message-sequencing: it "is appended to the queue as if it had been
  // enqueued at the current instant, which includes assigning a new SequenceNumber".
  it("a scheduled message queues up behind what was sent before its time", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, send, take } = queue();
    const due = Math.floor(clock.now()) + HOUR;
    const [number] = await sender().scheduleMessages([{ body: Buffer.from("scheduled") }], new Date(due));
    await send("sent");
    clock.advance(HOUR);
    const messages = await take(2);
    assert.deepEqual(bodies(messages), ["sent", "scheduled"]);
    const [sent, scheduled] = messages.map(({ sequenceNumber }) => sequenceNumber!);
    assert.ok(number && sent && scheduled);
    assert.ok(scheduled.greaterThan(sent));
    assert.equal(messages[1]?.enqueuedTimeUtc?.getTime(), due);
  });

  it("1.3: a time to live counts from the time that the message was scheduled for", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { sender, acts } = queue();
    const due = new Date(Math.floor(clock.now()) + HOUR);
    await sender().scheduleMessages({ body: "a", timeToLive: 10 * SECOND }, due);
    clock.advance(HOUR + 10 * SECOND - 1);
    assert.equal(acts.counts().visible, 1);
    clock.advance(1);
    assert.deepEqual(acts.messageIds(), []);
  });
});
