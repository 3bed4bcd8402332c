import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openAmqp } from "../testing/amqp.ts";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SECOND = 1_000;
const SESSIONS = { requiresSession: true, lockDurationMs: 20 * SECOND };
const LOST = { code: "SessionLockLost", retryable: false };

describe("locks of sessions of the Service Bus server", () => {
  it("1.3: who takes a session learns until when it holds it", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const a = await queue(SESSIONS).session("a");
    assert.equal(a.sessionLockedUntilUtc.getTime(), Math.floor(clock.now()) + 20 * SECOND);
  });

  it("SB-03: renewing the session's lock is renewing all that was received in it", async (test) => {
    const { queue, clock, connect } = await openServicebus(test);
    const { send, session, take, acts } = queue(SESSIONS);
    await send(...messagesOf("a", 2));
    const a = await session("a");
    const [first, second] = await take(2, a);
    for (let round = 0; round < 5; round++) {
      clock.advance(15 * SECOND);
      const until = await a.renewSessionLock();
      assert.equal(until.getTime(), Math.floor(clock.now()) + 20 * SECOND);
      assert.equal(a.sessionLockedUntilUtc.getTime(), until.getTime());
    }
    clock.advance(20 * SECOND - 1);
    await assert.rejects(session("a", connect()), { code: "SessionCannotBeLocked" });
    await a.completeMessage(first!);
    await a.completeMessage(second!);
    assert.deepEqual(acts.messageIds(), []);
  });

  it("SB-03: when the session's lock is over, so is every lease in it", async (test) => {
    const { queue, clock, connect, roundTrip } = await openServicebus(test);
    const { send, session, take, acts } = queue(SESSIONS);
    await send(...messagesOf("a", 2));
    const a = await session("a");
    const [first, second] = await take(2, a);
    clock.advance(20 * SECOND);
    await roundTrip();
    await assert.rejects(a.completeMessage(first!), LOST);
    await assert.rejects(a.abandonMessage(second!), LOST);
    await assert.rejects(a.renewSessionLock(), LOST);
    assert.equal(acts.counts().visible, 2);
    const again = await take(2, await session("a", connect()));
    assert.deepEqual(bodies(again), ["a0", "a1"]);
    // 1.4 (1): what was out when the lock ran out counts.
    assert.deepEqual(
      again.map(({ deliveryCount }) => deliveryCount),
      [1, 1],
    );
  });

  it("SB-32: sessions that run out lead to the dead letters", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { send, session, one, deadLetters, acts } = queue({ ...SESSIONS, maxDeliveryCount: 2 });
    await send(...messagesOf("a", 1));
    for (let count = 0; count < 2; count++) {
      assert.equal((await one(await session("a"))).deliveryCount, count);
      clock.advance(20 * SECOND);
    }
    assert.deepEqual(acts.messageIds(), []);
    assert.equal((await one(deadLetters())).deadLetterReason, "MaxDeliveryCountExceeded");
  });

  it("1.2: a session whose lock ran out goes to who waits for the next", async (test) => {
    const { queue, clock, connect, servicebus } = await openServicebus(test);
    const { send, session, one } = queue(SESSIONS);
    await send(...messagesOf("a", 1));
    await one(await session("a"));
    const waiting = session(undefined, connect());
    await until(() => servicebus.calls.of("Attach").open === 1);
    clock.advance(20 * SECOND);
    const b = await waiting;
    assert.equal(b.sessionId, "a");
    await b.completeMessage(await one(b));
  });

  it("SB-06: once the link is gone the SDK itself says that the session's lock is lost", async (test) => {
    const { queue, servicebus, roundTrip } = await openServicebus(test);
    const { path, send, session, one, acts } = queue(SESSIONS);
    await send(...messagesOf("a", 1));
    const a = await session("a");
    const message = await one(a);
    servicebus.detach(path);
    await roundTrip();
    await assert.rejects(a.completeMessage(message), LOST);
    assert.equal(servicebus.calls.of("Complete").calls, 0);
    assert.equal(acts.messageIds().length, 1);
    // It was given back with the link.
    assert.equal((await one(await session("a"))).messageId, message.messageId);
  });

  it("SB-03: renewing the lock of a message does not apply in a session", async (test) => {
    const { queue, servicebus, clock } = await openServicebus(test);
    const { path, send, session, one } = queue(SESSIONS);
    await send(...messagesOf("a", 1));
    const a = await session("a");
    const { lockToken } = await one(a);
    const amqp = await openAmqp(test, servicebus);
    const { properties } = await amqp.renewLock(path, lockToken!);
    assert.ok(Number(properties["statusCode"]) >= 400);
    clock.advance(20 * SECOND);
    await assert.rejects(a.renewSessionLock(), LOST);
  });

  it("1.3: a session's lock is renewed by nobody who does not hold it", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { path } = queue(SESSIONS);
    const amqp = await openAmqp(test, servicebus);
    const { properties } = await amqp.request(path, "renew-session-lock", { "session-id": "a" });
    assert.equal(properties["statusCode"], 410);
    assert.equal(properties["errorCondition"], "com.microsoft:session-lock-lost");
  });

  it("1.2: a session has a state, which outlives who set it", async (test) => {
    const { queue, connect } = await openServicebus(test);
    const { session } = queue(SESSIONS);
    const a = await session("a");
    assert.equal(await a.getSessionState(), null);
    await a.setSessionState({ cursor: 7 });
    assert.deepEqual(await a.getSessionState(), { cursor: 7 });
    await a.close();
    const again = await session("a", connect());
    assert.deepEqual(await again.getSessionState(), { cursor: 7 });
    assert.equal(await (await session("b")).getSessionState(), null);
    await again.setSessionState(null);
    assert.equal(await again.getSessionState(), null);
  });

  it("1.3: a state that was set keeps its bytes", async (test) => {
    const { queue } = await openServicebus(test);
    const a = await queue(SESSIONS).session("a");
    await a.setSessionState(Buffer.from([0, 255, 1]));
    assert.deepEqual(Buffer.from(await a.getSessionState()), Buffer.from([0, 255, 1]));
  });

  it("SB-03: state is for who holds the session", async (test) => {
    const { queue, clock } = await openServicebus(test);
    const { session } = queue(SESSIONS);
    const a = await session("a");
    await a.setSessionState("mine");
    clock.advance(20 * SECOND);
    await assert.rejects(a.setSessionState("still mine"), LOST);
    assert.equal(await (await session("a")).getSessionState(), "mine");
  });
});

function messagesOf(sessionId: string, count: number) {
  return Array.from({ length: count }, (_, index) => ({ body: Buffer.from(`${sessionId}${index}`), sessionId }));
}
