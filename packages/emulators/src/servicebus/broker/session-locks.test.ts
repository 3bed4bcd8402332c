import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHandClock } from "../../hand-clock.ts";
import { contentOf, createHandConsumer, type HandConsumer, idsOf } from "../../testing/contents.ts";
import type { EntitySettings } from "../entity-settings.ts";
import { createNamespace } from "./namespace.ts";
import type { SessionHold } from "./session-locks.ts";

const LOCK_MS = 30_000;
const LOST = { condition: "com.microsoft:session-lock-lost" };

function openSessions(settings: EntitySettings = {}) {
  const clock = createHandClock(1_000_000);
  const namespace = createNamespace(clock);
  namespace.createQueue("q", { lockDurationMs: LOCK_MS, requiresSession: true, ...settings });
  const found = namespace.find("q");
  assert.ok(found.kind === "queue");
  const { queue } = found;
  let lost = 0;
  return {
    clock,
    queue,
    lost: () => lost,
    /** Messages whose first letter is their session. */
    send: (...ids: readonly string[]) =>
      queue.inbox.send(ids.map((id) => contentOf(id, { sessionId: id.slice(0, 1) }))),
    accept: (id: string): SessionHold => queue.sessions.accept(id, () => lost++),
    next(): { hold: SessionHold | undefined; cancel(): void } {
      const waiting: { hold: SessionHold | undefined; cancel(): void } = { hold: undefined, cancel() {} };
      const accepted = (hold: SessionHold): void => void Object.assign(waiting, { hold });
      const { cancel } = queue.sessions.acceptNext(() => lost++, accepted);
      waiting.cancel = cancel;
      return waiting;
    },
    consume(hold: SessionHold, credit = 9): HandConsumer {
      const consumer = { ...createHandConsumer(credit), hold };
      queue.consume(consumer).wait();
      return consumer;
    },
    idsOfSessions: () => Array.from(queue.inventory.sessions.all(), ({ id }) => id),
  };
}

describe("sessions of Service Bus", () => {
  it("have one holder, who gets their messages alone and in order", () => {
    const { send, accept, consume } = openSessions();
    send("a1", "b1", "a2");
    const a = accept("a");
    assert.throws(() => accept("a"), { condition: "com.microsoft:session-cannot-be-locked" });
    const consumer = consume(a);
    send("b2", "a3");
    assert.deepEqual(idsOf(consumer.got), ["a1", "a2", "a3"]);
  });

  it("give back in front what is abandoned (SB-38)", () => {
    const { queue, send, accept, consume } = openSessions();
    send("a1", "a2");
    const hold = accept("a");
    const [first] = consume(hold, 1).got;
    queue.settlement.settle(first?.lock?.token ?? "", { kind: "abandon" });
    assert.deepEqual(idsOf(consume(hold, 2).got), ["a1", "a2"]);
  });

  it("end all their leases at once with their lock, and count the deliveries (SB-03)", () => {
    const { clock, queue, send, accept, consume, lost } = openSessions();
    send("a1", "a2");
    const hold = accept("a");
    const { got } = consume(hold);
    const tokens = got.map(({ lock }) => lock?.token ?? "");
    clock.advance(LOCK_MS - 1);
    assert.equal(hold.renew(), clock.now() + LOCK_MS);
    clock.advance(LOCK_MS - 1);
    assert.deepEqual([lost(), queue.inventory.counts().inFlight], [0, 2]);
    clock.advance(1);
    assert.deepEqual([lost(), queue.inventory.counts()], [1, { visible: 2, inFlight: 0, delayed: 0 }]);
    for (const token of tokens) assert.throws(() => queue.settlement.settle(token, { kind: "complete" }), LOST);
    assert.throws(() => hold.renew(), LOST);
    assert.throws(() => hold.state(), LOST);
    assert.throws(() => hold.setState(undefined), LOST);
    assert.deepEqual(
      got.map(({ deliveryCount }) => deliveryCount),
      [1, 1],
    );
  });

  it("count nothing when their holder gives them back", () => {
    const { queue, send, accept, consume, lost } = openSessions();
    send("a1");
    const hold = accept("a");
    const { got } = consume(hold);
    hold.release();
    hold.release();
    assert.deepEqual([got[0]?.deliveryCount, lost(), queue.inventory.counts().visible], [0, 0, 1]);
  });

  it("do not mind what a former holder does", () => {
    const { clock, send, accept, queue } = openSessions();
    const former = accept("a");
    const consumption = queue.consume({ ...createHandConsumer(9), hold: former });
    clock.advance(LOCK_MS);
    send("a1");
    consumption.wait();
    assert.deepEqual(consumption.take(1), []);
    const holder = accept("a");
    former.release();
    assert.throws(() => former.renew(), LOST);
    holder.setState(Buffer.from("mine"));
    assert.equal(String(holder.state()), "mine");
    assert.throws(() => queue.settlement.receiveDeferred([1], true, former), LOST);
  });

  it("go to those who wait, the one that waits longest first, and by when they became free", () => {
    const { send, next, accept } = openSessions();
    const [first, gone, second, third] = [next(), next(), next(), next()];
    gone.cancel();
    const c = accept("c");
    send("c1", "b1", "a1", "b2");
    assert.deepEqual([first.hold?.session.id, second.hold?.session.id, third.hold], ["b", "a", undefined]);
    c.release();
    assert.equal(third.hold?.session.id, "c");
    assert.equal(gone.hold, undefined);
  });

  it("wait for the next holder once their lock is over", () => {
    const { clock, send, next } = openSessions();
    send("a1");
    const [former, waiting] = [next(), next()];
    clock.advance(LOCK_MS);
    assert.throws(() => former.hold?.check(), LOST);
    waiting.hold?.check();
  });

  it("are not for who wants the next one when all that they have is locked, deferred or to come", () => {
    const { clock, queue, send, accept, consume, next } = openSessions();
    send("a1");
    const hold = accept("a");
    const [message] = consume(hold).got;
    queue.settlement.settle(message?.lock?.token ?? "", { kind: "defer" });
    hold.release();
    queue.inbox.send([contentOf("b1", { sessionId: "b", scheduledAt: clock.now() + 1_000 })]);
    const waiting = next();
    assert.equal(waiting.hold, undefined);
    clock.advance(1_000);
    assert.equal(idOf(waiting), "b");
    const [deferred] = queue.settlement.receiveDeferred([1], true, accept("a"));
    assert.equal(deferred?.content.id, "a1");
    assert.throws(() => queue.settlement.receiveDeferred([1], true, undefined), LOST);
  });

  it("are remembered while there is something to remember", () => {
    const { queue, send, accept, consume, idsOfSessions } = openSessions();
    send("a1", "b1");
    for (const id of ["a", "b", "c"]) {
      const hold = accept(id);
      for (const { lock } of consume(hold).got) queue.settlement.settle(lock?.token ?? "", { kind: "complete" });
      if (id === "b") hold.setState(Buffer.from("state"));
      hold.release();
    }
    assert.deepEqual(idsOfSessions(), ["b"]);
    accept("b").setState(undefined);
  });

  it("lead to the dead letters when they run out, and those have no sessions", () => {
    const { clock, queue, send, accept, consume } = openSessions({ maxDeliveryCount: 1 });
    send("a1", "a2");
    consume(accept("a"), 1);
    clock.advance(LOCK_MS);
    const dead = createHandConsumer(9);
    assert.ok(queue.deadLetters);
    queue.deadLetters.checkReceiver(false);
    queue.deadLetters.consume(dead).wait();
    assert.deepEqual(idsOf(dead.got), ["a1"]);
    assert.equal(queue.inventory.counts().visible, 1);
  });

  it("take no message without one, and no receiver without one", () => {
    const { queue, send } = openSessions();
    assert.throws(() => queue.inbox.send([contentOf("a1", { sessionId: "a" }), contentOf("x")]), {
      condition: "amqp:not-allowed",
    });
    assert.throws(() => queue.checkReceiver(false), { condition: "amqp:not-allowed" });
    send("a1");
    assert.throws(() => queue.settlement.renew(["token"]), { condition: "amqp:not-allowed" });
    assert.equal(queue.inventory.messages.size(), 1);
  });
});

function idOf(waiting: { readonly hold: SessionHold | undefined }): string | undefined {
  return waiting.hold?.session.id;
}
