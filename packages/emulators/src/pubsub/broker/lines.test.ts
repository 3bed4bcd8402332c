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
  broker.createSubscription({ name: NAME, topic: TOPIC, enableMessageOrdering: true, ...settings });
  const subscription = broker.subscription(NAME);
  /** Texts that begin with `a` have the key `a`. */
  const send = (...texts: readonly string[]): readonly string[] =>
    broker.publish(
      TOPIC,
      texts.map((text) => ({ data: Buffer.from(text), orderingKey: text[0] ?? "" })),
    );
  const now = (max = 10): readonly string[] => subscription.pullNow(max).map(textOf);
  function listen(maxMessages: number) {
    const given: HandOver[] = [];
    const leave = subscription.open({
      maxMessages,
      maxBytes: 0,
      leaseMs: () => 60 * SECOND,
      deliver: (handOvers) => void given.push(...handOvers),
      fail: (error) => assert.fail(error),
    });
    return { given, leave };
  }
  return { clock, subscription, send, now, listen };
}

const textOf = ({ message }: HandOver): string => message.data.toString();
const ids = (handOvers: readonly (HandOver | undefined)[]): string[] => handOvers.map((one) => one?.ackId ?? "");

describe("lines of an ordering key", () => {
  it("a line that a full stream holds no more is free for others", () => {
    const { send, listen, subscription, now } = open();
    const { given } = listen(1);
    send("a1", "b1", "a2");
    // The next message of `a` was the stream's, until nothing of `a` was leased; the stream is full with `b1`.
    subscription.acknowledge(ids(given));
    assert.deepEqual(given.map(textOf), ["a1", "b1"]);
    assert.deepEqual(now(), ["a2"]);
  });

  it("a stream that goes leaves behind nothing that nobody gets", () => {
    const { send, listen, subscription, now } = open();
    const { given, leave } = listen(1);
    send("a1", "b1", "a2");
    subscription.acknowledge(ids(given));
    leave();
    assert.deepEqual(now(), ["a2"]);
  });

  it("an ack in the middle moves nothing else", () => {
    const { send, subscription, now, clock } = open();
    send("a1", "a2", "a3", "a4");
    const [, second] = subscription.pullNow(3);
    subscription.acknowledge(ids([second]));
    assert.deepEqual(now(), []);
    clock.advance(10 * SECOND);
    assert.deepEqual(now(), ["a1", "a3", "a4"]);
  });

  it("a late ack that is named twice takes one message", () => {
    const { send, subscription, now, clock } = open();
    send("a1", "a2");
    const late = ids(subscription.pullNow(1));
    clock.advance(10 * SECOND);
    subscription.acknowledge([...late, ...late]);
    assert.deepEqual(now(), ["a2"]);
  });

  it("head and tail may be given back in one request, whatever comes first in it", () => {
    const { send, subscription, now } = open({ enableExactlyOnceDelivery: true });
    send("a1", "a2", "a3");
    subscription.modifyAckDeadline(ids(subscription.pullNow(3)), 0);
    assert.deepEqual(now(), ["a1", "a2", "a3"]);
  });

  it("a message is not handed out while it goes to the dead letters, even to those who wait for the copy", () => {
    const { send, subscription, listen } = open({
      deadLetterPolicy: { deadLetterTopic: TOPIC, maxDeliveryAttempts: 5 },
    });
    const { given } = listen(0);
    send("a1");
    for (let times = 0; times < 5; times++) subscription.modifyAckDeadline(ids([given.at(-1)]), 0);
    // Five hand-overs, and the copy; it has a key as well.
    assert.equal(given.length, 6);
    assert.equal(given.at(-1)?.message.attributes["CloudPubSubDeadLetterSourceDeliveryCount"], "5");
    assert.deepEqual(subscription.acts().counts(), { visible: 0, inFlight: 1, delayed: 0 });
  });

  it("rules out a twin, which would come without those that follow it", () => {
    const { send, subscription } = open();
    const [id = ""] = send("a1", "a2");
    assert.equal(subscription.acts().duplicate(id), false);
  });
});

describe("answers", () => {
  it("of a pull name the lease that was made for it, even when that is over before it goes out", async () => {
    const { send, subscription, clock } = open();
    const pulls = [subscription.pull(1, () => undefined), subscription.pull(1, () => undefined)];
    send("a1");
    clock.advance(10 * SECOND);
    const [first, second] = (await Promise.all(pulls)).flat();
    assert.deepEqual(
      [first, second].map((one) => one && textOf(one)),
      ["a1", "a1"],
    );
    assert.notEqual(first?.ackId, second?.ackId);
  });

  it("to a pull that waits hold as much of what was published together as it asked for", async () => {
    const { send, subscription } = open();
    const pull = subscription.pull(2, () => undefined);
    send("a1", "a2", "a3");
    assert.deepEqual((await pull).map(textOf), ["a1", "a2"]);
  });
});
