import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHandClock } from "../../hand-clock.ts";
import { contentOf, createHandConsumer, idsOf } from "../../testing/contents.ts";
import type { EntitySettings } from "../entity-settings.ts";
import type { Message } from "./message.ts";
import { createNamespace } from "./namespace.ts";
import type { Queue } from "./queue.ts";

const LOCK_MS = 30_000;
const HOUR = 3_600_000;

function openQueue(settings: EntitySettings = {}) {
  const clock = createHandClock(1_000_000);
  const namespace = createNamespace(clock);
  namespace.createQueue("q", { lockDurationMs: LOCK_MS, ...settings });
  const find = (path: string): Queue => {
    const found = namespace.find(path);
    assert.ok(found.kind !== "topic");
    return found.queue;
  };
  const queue = find("q");
  const consumption = queue.consume(createHandConsumer(0));
  return {
    clock,
    namespace,
    queue,
    dead: find("q/$DeadLetterQueue"),
    send: (...ids: readonly string[]) => queue.inbox.send(ids.map((id) => contentOf(id))),
    take: (max = 1): readonly Message[] => consumption.take(max),
    ids: () => idsOf(queue.inventory.messages.from(0)),
  };
}

const tokenOf = (message: Message | undefined): string => message?.lock?.token ?? "none";

describe("a queue of Service Bus", () => {
  it("hands out messages in order, and puts back in front what is abandoned", () => {
    const { queue, send, take } = openQueue();
    send("a", "b", "c");
    const [a] = take(2);
    queue.settlement.settle(tokenOf(a), { kind: "abandon" });
    assert.deepEqual(idsOf(take(5)), ["a", "c"]);
    assert.equal(a?.deliveryCount, 1);
  });

  it("ends a lock on time to the millisecond, and counts the delivery (SB-31)", () => {
    const { clock, queue, send, take } = openQueue();
    send("a");
    const [message] = take();
    const token = tokenOf(message);
    clock.advance(LOCK_MS - 1);
    assert.deepEqual(queue.inventory.counts(), { visible: 0, inFlight: 1, delayed: 0 });
    clock.advance(1);
    assert.deepEqual(queue.inventory.counts(), { visible: 1, inFlight: 0, delayed: 0 });
    assert.throws(() => queue.settlement.settle(token, { kind: "complete" }), {
      condition: "com.microsoft:message-lock-lost",
    });
    assert.throws(() => queue.settlement.renew([token]), { condition: "com.microsoft:message-lock-lost" });
    assert.equal(message?.deliveryCount, 1);
  });

  it("renews a lock for as long again, under the same token, any number of times (SB-01, SB-02)", () => {
    const { clock, queue, send, take } = openQueue();
    send("a");
    const token = tokenOf(take()[0]);
    for (let hours = 0; hours < 200; hours++) {
      clock.advance(LOCK_MS - 1);
      assert.deepEqual(queue.settlement.renew([token]), [clock.now() + LOCK_MS]);
    }
    queue.settlement.settle(token, { kind: "complete" });
  });

  it("renews all locks of a request, or none", () => {
    const { clock, queue, send, take } = openQueue();
    send("a");
    const token = tokenOf(take()[0]);
    clock.advance(LOCK_MS - 1);
    assert.throws(() => queue.settlement.renew([token, "another"]));
    clock.advance(1);
    assert.equal(queue.inventory.counts().visible, 1);
  });

  it("serves those who wait in turn, a message at a time, until they have enough", () => {
    const { queue, send } = openQueue();
    const consumers = [createHandConsumer(3), createHandConsumer(1), createHandConsumer(5)];
    for (const consumer of consumers) queue.consume(consumer).wait();
    send("a", "b", "c", "d", "e", "f", "g", "h", "i", "j");
    assert.deepEqual(
      consumers.map(({ got }) => idsOf(got)),
      [["a", "d", "f"], ["b"], ["c", "e", "g", "h", "i"]],
    );
    assert.equal(queue.inventory.counts().visible, 1);
  });

  it("serves nobody who has left, and those who wait as soon as a lock runs out", () => {
    const { clock, queue, send, take } = openQueue();
    send("a");
    take();
    const [gone, there] = [createHandConsumer(1), createHandConsumer(1)];
    const left = queue.consume(gone);
    left.wait();
    queue.consume(there).wait();
    left.end();
    clock.advance(LOCK_MS);
    assert.deepEqual([idsOf(gone.got), idsOf(there.got)], [[], ["a"]]);
  });

  it("forgets what it hands out in receive-and-delete", () => {
    const { queue, send, ids } = openQueue();
    const consumer = createHandConsumer(1, false);
    queue.consume(consumer).wait();
    send("a", "b");
    assert.deepEqual([idsOf(consumer.got), ids()], [["a"], ["b"]]);
  });

  it("dead-letters at the last delivery that it allows, with the count (SB-32)", () => {
    const { clock, dead, send, take, ids } = openQueue({ maxDeliveryCount: 2 });
    send("a");
    for (let count = 0; count < 2; count++) {
      assert.deepEqual(idsOf(take()), ["a"]);
      clock.advance(LOCK_MS);
    }
    assert.deepEqual(ids(), []);
    const [message] = dead.inventory.messages.from(0);
    assert.deepEqual(message?.properties, {
      DeadLetterReason: "MaxDeliveryCountExceeded",
      DeadLetterErrorDescription: "Message could not be consumed after 2 delivery attempts.",
    });
    assert.deepEqual([message?.deliveryCount, message?.deadLetterSource], [2, "q"]);
  });

  it("keeps dead letters whatever becomes of them: no count, no end of life, no other place to go (SB-37)", () => {
    const { clock, queue, dead, take } = openQueue({ maxDeliveryCount: 1 });
    queue.inbox.send([contentOf("a", { timeToLiveMs: HOUR })]);
    queue.settlement.settle(tokenOf(take()[0]), { kind: "dead-letter", properties: { DeadLetterReason: "one" } });
    const consumption = dead.consume(createHandConsumer(0));
    clock.advance(2 * HOUR);
    for (const kind of ["abandon", "dead-letter", "abandon"] as const) {
      const [message] = consumption.take(1);
      dead.settlement.settle(tokenOf(message), { kind, properties: { last: kind } });
    }
    const [message] = consumption.take(1);
    assert.deepEqual(message?.properties, { DeadLetterReason: "one", last: "abandon" });
    assert.equal(message?.deliveryCount, 2);
  });

  it("adds up the properties of settlements", () => {
    const { queue, send, take } = openQueue();
    send("a");
    queue.settlement.settle(tokenOf(take()[0]), { kind: "abandon", properties: { a: 1, b: 1 } });
    queue.settlement.settle(tokenOf(take()[0]), { kind: "defer", properties: { b: 2 } });
    const [message] = queue.settlement.receiveDeferred([1], true, undefined);
    assert.deepEqual(message?.properties, { a: 1, b: 2 });
  });

  it("releases without counting", () => {
    const { queue, send, take } = openQueue({ maxDeliveryCount: 1 });
    send("a");
    for (let times = 0; times < 3; times++) {
      const [message] = take();
      assert.equal(message?.deliveryCount, 0);
      queue.settlement.settle(tokenOf(message), { kind: "release" });
    }
  });

  it("ends the life of what nobody has locked, at its time; dead-letters it if told so", () => {
    for (const deadLetterOnExpiration of [true, false]) {
      const { clock, queue, dead, ids, take } = openQueue({ deadLetterOnExpiration, defaultTimeToLiveMs: 20_000 });
      queue.inbox.send([contentOf("own", { timeToLiveMs: 10_000 }), contentOf("entity", { timeToLiveMs: HOUR })]);
      clock.advance(9_999);
      assert.deepEqual(ids(), ["own", "entity"]);
      clock.advance(1);
      assert.deepEqual(ids(), ["entity"]);
      const [locked] = take();
      clock.advance(LOCK_MS - 1);
      assert.deepEqual(ids(), ["entity"]);
      queue.settlement.settle(tokenOf(locked), { kind: "abandon" });
      assert.deepEqual(ids(), []);
      assert.deepEqual(idsOf(dead.inventory.messages.from(0)), deadLetterOnExpiration ? ["own", "entity"] : []);
    }
  });

  it("finds out that a deferred message is over when somebody asks for it", () => {
    const { clock, queue, dead, take } = openQueue({ deadLetterOnExpiration: true });
    queue.inbox.send([contentOf("a", { timeToLiveMs: 10_000 })]);
    queue.settlement.settle(tokenOf(take()[0]), { kind: "defer" });
    clock.advance(HOUR);
    assert.equal(queue.inventory.counts().delayed, 1);
    assert.throws(() => queue.settlement.receiveDeferred([1], true, undefined), {
      condition: "com.microsoft:message-not-found",
    });
    assert.deepEqual(idsOf(dead.inventory.messages.from(0)), ["a"]);
  });

  it("keeps deferred messages deferred when their lock is over, and locks them for one at a time", () => {
    const { clock, queue, send, take } = openQueue();
    send("a", "b");
    for (const message of take(2)) queue.settlement.settle(tokenOf(message), { kind: "defer" });
    const [message] = queue.settlement.receiveDeferred([1, 1], true, undefined);
    assert.throws(() => queue.settlement.receiveDeferred([2, 1], true, undefined));
    assert.equal(queue.inventory.counts().inFlight, 1);
    clock.advance(LOCK_MS);
    assert.deepEqual(take(2), []);
    assert.equal(message?.deliveryCount, 1);
    assert.deepEqual(idsOf(queue.settlement.receiveDeferred([1, 2], false, undefined)), ["a", "b"]);
    assert.equal(queue.inventory.messages.size(), 0);
  });

  it("enqueues what is scheduled at its time, with a number of then, and serves who waits", () => {
    const { clock, queue, send, ids } = openQueue();
    const start = clock.now();
    const scheduled = ["later", "sooner", "never"].map((id, index) =>
      contentOf(id, { scheduledAt: start + [2 * HOUR, HOUR, HOUR][index]! }),
    );
    assert.deepEqual(queue.inbox.schedule(scheduled), [1, 2, 3]);
    queue.inbox.cancelScheduled([3]);
    assert.throws(() => queue.inbox.cancelScheduled([3]), { condition: "com.microsoft:message-not-found" });
    send("now");
    const consumer = createHandConsumer(9, false);
    queue.consume(consumer).wait();
    clock.advance(HOUR - 1);
    assert.deepEqual(idsOf(consumer.got), ["now"]);
    clock.advance(1);
    assert.deepEqual(idsOf(consumer.got), ["now", "sooner"]);
    assert.throws(() => queue.inbox.cancelScheduled([2]));
    clock.advance(HOUR);
    assert.deepEqual(
      consumer.got.map(({ sequenceNumber, enqueuedSequenceNumber, enqueuedAt }) => [
        sequenceNumber,
        enqueuedSequenceNumber,
        enqueuedAt - start,
      ]),
      [
        [4, 4, 0],
        [5, 2, HOUR],
        [6, 1, 2 * HOUR],
      ],
    );
    assert.deepEqual(ids(), []);
  });

  it("waits for a time that is further away than a timer reaches (JS-01)", () => {
    const { clock, queue, ids, take } = openQueue();
    const far = 60 * 24 * HOUR;
    queue.inbox.send([contentOf("a", { scheduledAt: clock.now() + far })]);
    clock.advance(far - 1);
    assert.deepEqual([ids(), take()], [["a"], []]);
    clock.advance(1);
    assert.deepEqual(idsOf(take()), ["a"]);
  });

  it("drops an id that it saw within the window, scheduled or not (SB-34, SB-44)", () => {
    const { clock, queue, ids } = openQueue({ duplicateDetectionWindowMs: HOUR });
    assert.deepEqual(queue.inbox.schedule([contentOf("a", { scheduledAt: clock.now() + 2 * HOUR })]), [1]);
    assert.deepEqual(queue.inbox.schedule([contentOf("a"), contentOf("b"), contentOf("b")]), [1, 2, 2]);
    clock.advance(HOUR - 1);
    queue.inbox.send([contentOf("a")]);
    assert.deepEqual(ids(), ["a", "b"]);
    clock.advance(1);
    queue.inbox.send([contentOf("a")]);
    assert.deepEqual(ids(), ["a", "b", "a"]);
  });

  it("takes all messages of a batch or none", () => {
    const { queue, ids } = openQueue({ maxMessageBytes: 100 });
    const long = contentOf("long", { body: "x".repeat(100) });
    assert.throws(() => queue.inbox.send([contentOf("short"), long]), { condition: "amqp:link:message-size-exceeded" });
    assert.deepEqual(ids(), []);
  });

  it("shows messages in every state, from a number on, without changing them", () => {
    const { clock, queue, send, take } = openQueue();
    send("locked", "deferred", "active");
    queue.inbox.send([contentOf("scheduled", { scheduledAt: clock.now() + HOUR })]);
    const [, deferred] = take(2);
    queue.settlement.settle(tokenOf(deferred), { kind: "defer" });
    assert.deepEqual(idsOf(queue.settlement.peek(0, 9, undefined)), ["locked", "deferred", "active", "scheduled"]);
    assert.deepEqual(idsOf(queue.settlement.peek(2, 2, undefined)), ["deferred", "active"]);
    assert.deepEqual(queue.inventory.counts(), { visible: 1, inFlight: 1, delayed: 2 });
  });

  it("deletes what nobody has locked and was enqueued before, up to a number (SB-61)", () => {
    const { clock, queue, send, take, ids } = openQueue();
    send("locked", "a", "b", "c");
    take();
    clock.advance(1);
    send("new");
    assert.equal(queue.settlement.discard(2, clock.now()), 2);
    assert.equal(queue.settlement.discard(9, clock.now()), 1);
    assert.deepEqual(ids(), ["locked", "new"]);
  });
});

describe("a topic of Service Bus", () => {
  it("copies what is sent to every subscription, and keeps for its time what is scheduled", () => {
    const clock = createHandClock(0);
    const namespace = createNamespace(clock);
    namespace.createTopic("t", { duplicateDetectionWindowMs: HOUR });
    const topic = namespace.find("T");
    assert.ok(topic.kind === "topic");
    const subscribe = (name: string, settings: EntitySettings = {}): Queue => {
      namespace.createSubscription("t", name, settings);
      const found = namespace.find(`t/subscriptions/${name}`);
      assert.ok(found.kind === "subscription");
      return found.queue;
    };
    const first = subscribe("first");
    const inbox = topic.topic.inbox;
    const [, number = 0] = inbox.schedule([contentOf("a"), contentOf("b", { scheduledAt: HOUR })]);
    inbox.send([contentOf("a")]);
    const second = subscribe("second", { requiresSession: true });
    inbox.send([contentOf("c", { sessionId: "s" })]);
    clock.advance(HOUR);
    const seen = (queue: Queue | undefined) => idsOf(queue?.inventory.messages.from(0) ?? []);
    assert.deepEqual([seen(first), seen(second), seen(second.deadLetters)], [["a", "c", "b"], ["c"], ["b"]]);
    const numbers = Array.from(first.inventory.messages.from(0), (one) => one.enqueuedSequenceNumber);
    assert.deepEqual(numbers, [1, 3, 2]);
    assert.throws(() => inbox.cancelScheduled([number]));
  });
});

describe("names of Service Bus", () => {
  it("do not depend on case, are taken once, and cannot be what means something else", () => {
    const namespace = createNamespace(createHandClock());
    namespace.createQueue("Jobs/high", {});
    assert.equal(namespace.find("jobs/HIGH/$deadletterqueue").kind, "dead-letters");
    assert.equal(namespace.find("jobs/high/$Transfer/$DeadLetterQueue").kind, "dead-letters");
    assert.throws(() => namespace.createTopic("jobs/HIGH", {}), /already/);
    for (const name of ["", "a b", "/a", "a/", "a/$management", "a/subscriptions/b", "$cbs"]) {
      assert.throws(() => namespace.createQueue(name, {}), RangeError, name);
    }
    assert.throws(() => namespace.createSubscription("jobs/high", "s", {}), { condition: "amqp:not-found" });
  });

  it("come with settings that are in range", () => {
    const namespace = createNamespace(createHandClock());
    const wrong: readonly EntitySettings[] = [
      { lockDurationMs: 0 },
      { lockDurationMs: 300_001 },
      { maxDeliveryCount: 0 },
      { maxDeliveryCount: 1.5 },
      { defaultTimeToLiveMs: 0 },
      { duplicateDetectionWindowMs: -1 },
      { maxMessageBytes: 0 },
    ];
    for (const settings of wrong) assert.throws(() => namespace.createQueue("q", settings), RangeError);
  });
});
