import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createHandClock } from "../../hand-clock.ts";
import { createBroker } from "./broker.ts";
import type { HandOver } from "./entry.ts";
import type { SubscriptionConfig } from "./settings.ts";

const SECOND = 1_000;
const TOPIC = "projects/local/topics/topic";
const NAME = "projects/local/subscriptions/subscription";

function open(settings: Partial<SubscriptionConfig> = {}) {
  const clock = createHandClock();
  const broker = createBroker(clock, { staleAck: "applied" });
  broker.createTopic({ name: TOPIC });
  broker.createSubscription({ name: NAME, topic: TOPIC, ...settings });
  const subscription = broker.subscription(NAME);
  const send = (text: string, orderingKey = "") => broker.publish(TOPIC, [{ data: Buffer.from(text), orderingKey }]);

  /** A pull that waits; `texts` are there once it has been answered. */
  function wait(max = 1) {
    const waiting: { texts: readonly string[] | undefined; leave: () => void } = {
      texts: undefined,
      leave: () => undefined,
    };
    const answered = subscription
      .pull(max, (gone) => {
        waiting.leave = gone;
      })
      .then((handOvers) => {
        waiting.texts = handOvers.map(textOf);
      });
    return Object.assign(waiting, { answered });
  }

  /** A stream that keeps what it was given. */
  function listen(maxMessages = 0, maxBytes = 0) {
    const given: HandOver[] = [];
    const leave = subscription.open({
      maxMessages,
      maxBytes,
      leaseMs: () => 60 * SECOND,
      deliver: (handOvers) => void given.push(...handOvers),
      fail: (error) => assert.fail(error),
    });
    return { given, leave, texts: () => given.map(textOf) };
  }

  const now = (max = 10): readonly string[] => subscription.pullNow(max).map(textOf);
  return { clock, broker, subscription, send, wait, listen, now };
}

const textOf = ({ message }: HandOver): string => message.data.toString();
const ids = (handOvers: readonly HandOver[]): string[] => handOvers.map(({ ackId }) => ackId);

describe("pulls that wait", () => {
  it("are served in the order in which they came, each with as much as it asked for", async () => {
    const { wait, send } = open();
    const [first, second] = [wait(), wait()];
    send("a");
    await first.answered;
    assert.deepEqual([first.texts, second.texts], [["a"], undefined]);
    send("b");
    await second.answered;
    assert.deepEqual(second.texts, ["b"]);
  });

  it("lease nothing once they have gone", async () => {
    const { wait, send } = open();
    const [gone, stays] = [wait(), wait()];
    gone.leave();
    await gone.answered;
    send("a");
    await stays.answered;
    assert.deepEqual([gone.texts, stays.texts], [[], ["a"]]);
  });

  it("get a message when the lease of another is over, and nobody asks", async () => {
    const { wait, send, now, clock } = open();
    send("a");
    assert.deepEqual(now(), ["a"]);
    const waiting = wait();
    clock.advance(10 * SECOND);
    await waiting.answered;
    assert.deepEqual(waiting.texts, ["a"]);
  });

  it("get a message when its back-off is over", async () => {
    const { wait, send, subscription, clock } = open({ retryPolicy: { minimumBackoff: { seconds: "3" } } });
    send("a");
    subscription.modifyAckDeadline(ids(subscription.pullNow(1)), 0);
    const waiting = wait();
    clock.advance(3 * SECOND);
    await waiting.answered;
    assert.deepEqual(waiting.texts, ["a"]);
  });

  it("fail when the subscription is deleted, or the server ends", async () => {
    const deleted = open();
    const waiting = assert.rejects(deleted.wait().answered, { status: "NOT_FOUND" });
    deleted.broker.deleteSubscription(NAME);
    await waiting;
    const ended = open();
    const cut = assert.rejects(ended.wait().answered, { status: "UNAVAILABLE" });
    ended.broker.close();
    await cut;
  });
});

describe("streams", () => {
  it("PS-27: what is leased to a stream counts until it is settled or its lease is over", () => {
    const { listen, send, subscription, clock } = open();
    const { given, texts } = listen(2);
    for (const text of ["a", "b", "c", "d"]) send(text);
    assert.deepEqual(texts(), ["a", "b"]);
    subscription.acknowledge(ids(given.slice(0, 1)));
    assert.deepEqual(texts(), ["a", "b", "c"]);
    clock.advance(60 * SECOND);
    assert.deepEqual(texts(), ["a", "b", "c", "b", "c"]);
  });

  it("PS-27: bytes count as well, and one message always fits", () => {
    const { listen, send, subscription } = open();
    const { given, texts } = listen(0, 3);
    for (const text of ["long", "a", "b"]) send(text);
    assert.deepEqual(texts(), ["long"]);
    subscription.acknowledge(ids(given));
    assert.deepEqual(texts(), ["long", "a", "b"]);
  });

  it("take turns", () => {
    const { listen, send } = open();
    const [one, other] = [listen(), listen()];
    for (const text of ["a", "b", "c", "d"]) send(text);
    assert.deepEqual(
      [one.texts(), other.texts()],
      [
        ["a", "c"],
        ["b", "d"],
      ],
    );
  });

  it("keep their messages leased when they go, and get no more", () => {
    const { listen, send, now, clock } = open();
    const stream = listen();
    send("a");
    stream.leave();
    send("b");
    assert.deepEqual(now(), ["b"]);
    clock.advance(60 * SECOND - 1);
    assert.deepEqual(now(), ["b"]);
    clock.advance(1);
    assert.deepEqual(now(), ["a"]);
    assert.deepEqual(stream.texts(), ["a"]);
  });

  it("PS-45: hold a key while any of its messages is out; it is free once a stream that went has none left", () => {
    const { listen, send, subscription, now } = open({ enableMessageOrdering: true });
    const stream = listen(1);
    send("a1", "a");
    send("a2", "a");
    assert.deepEqual(stream.texts(), ["a1"]);
    assert.deepEqual(now(), []);
    stream.leave();
    assert.deepEqual(now(), []);
    subscription.acknowledge(ids(stream.given));
    assert.deepEqual(now(), ["a2"]);
  });

  it("PS-45: a lease that ran out brings back the later ones of its key, in order, and not the earlier one", () => {
    const { listen, send, subscription, now } = open({ enableMessageOrdering: true });
    const stream = listen();
    for (const text of ["a1", "a2", "a3"]) send(text, "a");
    const [first, second] = stream.given;
    subscription.acts().expire(second?.message.id ?? "");
    assert.deepEqual(stream.texts(), ["a1", "a2", "a3", "a2", "a3"]);
    stream.leave();
    subscription.acknowledge(ids(first === undefined ? [] : [first]));
    assert.deepEqual(now(), []);
  });
});

describe("exactly-once", () => {
  const settings = { enableExactlyOnceDelivery: true };
  const refused = (...ackIds: readonly string[]) => ({
    status: "INVALID_ARGUMENT",
    ackFailures: Object.fromEntries(ackIds.map((ackId) => [ackId, "PERMANENT_FAILURE_INVALID_ACK_ID"])),
  });

  it("PS-04: an id is good until the millisecond in which its lease ends", () => {
    const { subscription, send, clock } = open(settings);
    send("a");
    const [ackId = ""] = ids(subscription.pullNow(1));
    clock.advance(10 * SECOND - 1);
    subscription.modifyAckDeadline([ackId], 10);
    clock.advance(10 * SECOND);
    assert.throws(() => subscription.modifyAckDeadline([ackId], 10), refused(ackId));
    assert.throws(() => subscription.acknowledge([ackId]), refused(ackId));
  });

  it("PS-04: the good ids of a request count, each once, and the others are named", () => {
    const { subscription, send, now, clock } = open(settings);
    send("a");
    const [stale = ""] = ids(subscription.pullNow(1));
    clock.advance(10 * SECOND);
    send("b");
    const good = ids(subscription.pullNow(2));
    assert.throws(() => subscription.acknowledge([stale, ...good, ...good]), refused(stale));
    clock.advance(10 * SECOND);
    assert.deepEqual(now(), []);
  });

  it("rules out that a broker delivers twice what is leased", () => {
    const { subscription, send } = open(settings);
    const [id = ""] = send("a");
    assert.equal(subscription.acts().duplicate(id), false);
  });
});
