import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bodies, openServicebus } from "../testing/servicebus.ts";
import { until } from "../testing/until.ts";

const SESSIONS = { requiresSession: true };
const SECOND = 1_000;

describe("sessions of the Service Bus server", () => {
  it("1.2: a session brings its own messages, in order", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, session, take, none } = queue(SESSIONS);
    await send(...["a1", "b1", "a2", "b2", "a3"].map(messageOf));
    const a = await session("a");
    assert.equal(a.sessionId, "a");
    const messages = await take(3, a);
    assert.deepEqual(bodies(messages), ["a1", "a2", "a3"]);
    for (const message of messages) {
      assert.equal(message.sessionId, "a");
      await a.completeMessage(message);
    }
    await none(a);
    assert.deepEqual(bodies(await take(2, await session("b"))), ["b1", "b2"]);
  });

  it("1.2: a session without messages can be taken by its id, and waits for them", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, session, one } = queue(SESSIONS);
    const a = await session("a");
    const waiting = one(a);
    await until(() => servicebus.calls.of("Receive").calls === 1);
    await send(messageOf("b1"), messageOf("a1"));
    assert.equal(String((await waiting).body), "a1");
  });

  it("1.2: the next session is one that has messages and that nobody holds", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, session, take } = queue(SESSIONS);
    await send(messageOf("a1"), messageOf("b1"));
    const taken = [await session(), await session()];
    assert.deepEqual(taken.map(({ sessionId }) => sessionId).toSorted(), ["a", "b"]);
    for (const receiver of taken) assert.deepEqual(bodies(await take(1, receiver)), [`${receiver.sessionId}1`]);
  });

  it("1.2: who waits for the next session is woken by a send", async (test) => {
    const { queue, servicebus } = await openServicebus(test);
    const { send, session, one } = queue(SESSIONS);
    const waiting = session();
    await until(() => servicebus.calls.of("Attach").open === 1);
    await send(messageOf("a1"));
    const a = await waiting;
    assert.equal(a.sessionId, "a");
    assert.equal(String((await one(a)).body), "a1");
  });

  it("1.3: who waits for the next session is told when the time is over: ServiceTimeout", async (test) => {
    const { queue, servicebus, clock, connect } = await openServicebus(test);
    const { session, send } = queue(SESSIONS);
    const hasty = connect(20_000);
    const waiting = assert.rejects(session(undefined, hasty), { code: "ServiceTimeout" });
    await until(() => servicebus.calls.of("Attach").open === 1);
    clock.advance(20_000);
    await waiting;
    // It is gone: a session that comes now is for others.
    await send(messageOf("a1"));
    assert.equal((await session()).sessionId, "a");
  });

  it("1.2: a session that somebody holds is refused with SessionCannotBeLocked", async (test) => {
    const { queue, connect } = await openServicebus(test);
    const { session } = queue(SESSIONS);
    await session("a");
    await assert.rejects(session("a"), { code: "SessionCannotBeLocked" });
    await assert.rejects(session("a", connect()), { code: "SessionCannotBeLocked" });
    await session("b");
  });

  it("1.4 (1): closing gives the session back at once, and the deliveries do not count", async (test) => {
    const { queue, connect } = await openServicebus(test);
    const { send, session, one, take } = queue(SESSIONS);
    await send(messageOf("a1"), messageOf("a2"));
    const first = await session("a");
    await one(first);
    await first.close();
    const second = await session("a", connect());
    const messages = await take(2, second);
    assert.deepEqual(bodies(messages), ["a1", "a2"]);
    assert.deepEqual(
      messages.map(({ deliveryCount }) => deliveryCount),
      [0, 0],
    );
  });

  it("1.4 (1): so does a connection that is lost", async (test) => {
    const { queue, connect } = await openServicebus(test);
    const { send, session, one } = queue(SESSIONS);
    await send(messageOf("a1"));
    const other = connect();
    await one(await session("a", other));
    await other.close();
    assert.equal((await one(await session("a"))).deliveryCount, 0);
  });

  it("SB-38: an abandoned message of a session comes first again", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, session, one, take } = queue(SESSIONS);
    await send(messageOf("a1"), messageOf("a2"));
    const a = await session("a");
    await a.abandonMessage(await one(a));
    const messages = await take(2, a);
    assert.deepEqual(bodies(messages), ["a1", "a2"]);
    assert.deepEqual(
      messages.map(({ deliveryCount }) => deliveryCount),
      [1, 0],
    );
  });

  it("1.2: messages of a session are dead-lettered, and found without one", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, session, one, deadLetters } = queue({ ...SESSIONS, maxDeliveryCount: 1 });
    await send(messageOf("a1"), messageOf("a2"));
    const a = await session("a");
    await a.deadLetterMessage(await one(a), { deadLetterReason: "reason", deadLetterErrorDescription: "description" });
    await a.abandonMessage(await one(a));
    const dead = deadLetters();
    const [said, counted] = [await one(dead), await one(dead)];
    assert.deepEqual([said.sessionId, said.deadLetterReason], ["a", "reason"]);
    assert.deepEqual([counted.sessionId, counted.deadLetterReason], ["a", "MaxDeliveryCountExceeded"]);
    await dead.completeMessage(said);
  });

  it("SB-35: messages of a session are deferred, and had again in it", async (test) => {
    const { queue } = await openServicebus(test);
    const { send, session, one, none, acts } = queue(SESSIONS);
    await send(messageOf("a1"));
    const a = await session("a");
    const message = await one(a);
    await a.deferMessage(message);
    await none(a);
    const [deferred] = await a.receiveDeferredMessages(message.sequenceNumber!);
    assert.equal(String(deferred?.body), "a1");
    await a.completeMessage(deferred!);
    assert.deepEqual(acts.messageIds(), []);
  });

  it("1.2: messages are scheduled into a session, which is there once they are", async (test) => {
    const { queue, clock, servicebus } = await openServicebus(test);
    const { sender, session, one } = queue(SESSIONS);
    await sender().scheduleMessages(messageOf("a1"), new Date(clock.now() + SECOND));
    const waiting = session();
    await until(() => servicebus.calls.of("Attach").open === 1);
    clock.advance(SECOND);
    assert.equal((await one(await waiting)).sessionId, "a");
  });

  it("1.3: peeking in a session shows what is its own", async (test) => {
    const { queue, connect } = await openServicebus(test);
    const { send, session, receiver } = queue(SESSIONS);
    await send(...["a1", "b1", "a2"].map(messageOf));
    assert.deepEqual(bodies(await receiver.peekMessages(5)), ["a1", "b1", "a2"]);
    // On a connection of its own: the SDK goes on where it stopped on the entity, whatever the session.
    assert.deepEqual(bodies(await (await session("a", connect())).peekMessages(5)), ["a1", "a2"]);
  });

  it("1.3: receive-and-delete works in a session", async (test) => {
    const { queue, client } = await openServicebus(test);
    const { path, send, take, acts } = queue(SESSIONS);
    await send(messageOf("a1"), messageOf("a2"));
    const options = { receiveMode: "receiveAndDelete", skipParsingBodyAsJson: true } as const;
    assert.deepEqual(bodies(await take(2, await client.acceptSession(path, "a", options))), ["a1", "a2"]);
    assert.deepEqual(acts.messageIds(), []);
  });

  it("1.2: a subscription may have sessions", async (test) => {
    const { subscription } = await openServicebus(test);
    const { send, session, one } = subscription("t", "s", SESSIONS);
    await send(messageOf("a1"));
    const a = await session();
    await a.completeMessage(await one(a));
  });

  it("1.3: sessions are for entities that have them, and the others refuse", async (test) => {
    const { queue } = await openServicebus(test);
    const plain = queue();
    const sessions = queue(SESSIONS);
    await assert.rejects(plain.session("a"));
    await assert.rejects(sessions.receiver.receiveMessages(1), /amqp:not-allowed|InvalidOperation/);
    // A message without a session has no place there; one with a session has on a plain queue.
    await assert.rejects(sessions.send("a"), /amqp:not-allowed|InvalidOperation/);
    await plain.send(messageOf("a1"));
    assert.equal((await plain.one()).sessionId, "a");
  });
});

/** Its session is the letter in front. */
function messageOf(text: string) {
  return { body: Buffer.from(text), sessionId: text.slice(0, 1) };
}
