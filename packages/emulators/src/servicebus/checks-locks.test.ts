import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SECOND = 1_000;
const LOST = { code: "MessageLockLost", retryable: false };

describe("locks of the Service Bus server", () => {
  it("SB-02: a lock lasts as long as the entity says, 60 s by default, and to the millisecond", async (test) => {
    const { queue, clock } = await openServicebus(test);
    for (const [settings, lockMs] of [
      [{}, 60 * SECOND],
      [{ lockDurationMs: 300 * SECOND }, 300 * SECOND],
    ] as const) {
      const { send, one, none, acts } = queue(settings);
      await send("a");
      const first = await one();
      assert.equal(first.lockedUntilUtc?.getTime(), Math.floor(clock.now()) + lockMs);
      clock.advance(lockMs - 1);
      await none();
      assert.equal(acts.counts().inFlight, 1);
      clock.advance(1);
      assert.equal(acts.counts().visible, 1);
      assert.equal((await one()).messageId, first.messageId);
    }
  });

  it("SB-31: a lock that ran out raises the count, and so does the next", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, one } = queue();
    await send("a");
    const tokens = new Set<string | undefined>();
    for (let count = 0; count < 4; count++) {
      const message = await one();
      assert.equal(message.deliveryCount, count);
      tokens.add(message.lockToken);
      clock.advance(60 * SECOND);
    }
    assert.equal(tokens.size, 4);
  });

  it("SB-24: settling after the lock ran out fails with MessageLockLost, and the message stays", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, take, acts } = queue();
    await send("a", "b", "c", "d");
    const [a, b, c, d] = await take(4);
    assert.ok(a && b && c && d);
    clock.advance(60 * SECOND);
    await assert.rejects(receiver.completeMessage(a), LOST);
    await assert.rejects(receiver.abandonMessage(b), LOST);
    await assert.rejects(receiver.deferMessage(c), LOST);
    await assert.rejects(receiver.deadLetterMessage(d), LOST);
    assert.deepEqual(acts.counts(), { visible: 4, inFlight: 0, delayed: 0 });
  });

  it("SB-24: a lost lock stays lost when somebody else holds the message", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, open, send, one, acts } = queue();
    await send("a");
    const mine = await one();
    clock.advance(60 * SECOND);
    const other = open();
    const theirs = await one(other);
    await assert.rejects(receiver.completeMessage(mine), LOST);
    await assert.rejects(receiver.renewMessageLock(mine), LOST);
    await other.completeMessage(theirs);
    assert.deepEqual(acts.messageIds(), []);
  });

  it("SB-33: a message whose lock ran out is in front again", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, one, take } = queue();
    await send("a", "b");
    await one();
    clock.advance(60 * SECOND);
    assert.deepEqual(bodies(await take(2)), ["a", "b"]);
  });

  it("1.2: a receive that waits gets the message whose lock runs out", async (test) => {
    const { queue, clock, servicebus } = await openServicebus(test);
    const { open, send, one } = queue();
    await send("a");
    await one();
    const waiting = one(open());
    await until(() => servicebus.calls.of("Receive").calls === 2);
    clock.advance(60 * SECOND);
    assert.equal((await waiting).deliveryCount, 1);
  });

  it("SB-01: renewing keeps the token and says until when", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one } = queue();
    await send("a");
    const message = await one();
    const { lockToken } = message;
    clock.advance(20 * SECOND);
    const until = await receiver.renewMessageLock(message);
    assert.equal(until.getTime(), Math.floor(clock.now()) + 60 * SECOND);
    assert.equal(message.lockedUntilUtc?.getTime(), until.getTime());
    assert.equal(message.lockToken, lockToken);
  });

  it("SB-02: each renewal gives one lock duration from now, any number of times", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one, none, acts } = queue({ lockDurationMs: 10 * SECOND });
    await send("a");
    const message = await one();
    for (let round = 0; round < 30; round++) {
      clock.advance(10 * SECOND - 1);
      await receiver.renewMessageLock(message);
    }
    await receiver.renewMessageLock(message);
    clock.advance(10 * SECOND - 1);
    await none();
    clock.advance(1);
    assert.equal(acts.counts().visible, 1);
    assert.equal((await one()).deliveryCount, 1);
  });

  it("1.2: renewing after the loss fails with MessageLockLost and revives nothing", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, one, acts } = queue();
    await send("a");
    const message = await one();
    clock.advance(60 * SECOND);
    await assert.rejects(receiver.renewMessageLock(message), LOST);
    assert.deepEqual(acts.counts(), { visible: 1, inFlight: 0, delayed: 0 });
  });

  it("1.3: renewing a message that was settled fails with MessageLockLost", async (test) => {
    const { queue } = await openServicebus(test);
    const { receiver, send, take } = queue();
    await send("a", "b");
    const [completed, abandoned] = await take(2);
    assert.ok(completed && abandoned);
    await receiver.completeMessage(completed);
    await receiver.abandonMessage(abandoned);
    await assert.rejects(receiver.renewMessageLock(completed), LOST);
    await assert.rejects(receiver.renewMessageLock(abandoned), LOST);
  });

  it("SB-40: locks of one receive are renewed and lost one by one", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { receiver, send, take, one } = queue();
    await send("a", "b");
    const [a, b] = await take(2);
    assert.ok(a && b);
    clock.advance(30 * SECOND);
    await receiver.renewMessageLock(b);
    clock.advance(30 * SECOND);
    await assert.rejects(receiver.completeMessage(a), LOST);
    await receiver.completeMessage(b);
    assert.equal(String((await one()).body), "a");
  });

  it("1.4 (1): locks outlive the receiver that took them", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { open, send, one, none, acts } = queue();
    await send("a");
    const receiver = open();
    await one(receiver);
    await receiver.close();
    await none();
    assert.deepEqual(acts.counts(), { visible: 0, inFlight: 1, delayed: 0 });
    clock.advance(60 * SECOND);
    assert.equal((await one()).deliveryCount, 1);
  });

  it("1.4 (1): locks outlive the connection that took them", async (test) => {
    const { queue, clock, connect } = await openServicebus(test);
    const { open, send, one, none } = queue();
    await send("a");
    const other = connect();
    await one(open({}, other));
    await other.close();
    await none();
    clock.advance(60 * SECOND);
    assert.equal((await one()).deliveryCount, 1);
  });
});
