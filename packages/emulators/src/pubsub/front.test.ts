import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { ONCE, openPubsub, openStream } from "../testing/pubsub.ts";
import { until } from "../testing/until.ts";

const [CANCELLED, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNAVAILABLE, UNAUTHENTICATED] = [1, 3, 8, 14, 16];

/** The client waits before it connects again, and fails calls until then. */
async function connected<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      assert.equal((error as { code?: number }).code, UNAVAILABLE);
    }
  }
}

describe("the front", () => {
  it("counts calls, their entries, and those that wait", async (test) => {
    const { queue, pubsub, subscriber, publisher } = await openPubsub(test);
    const { topic, subscription, pull, ack } = queue();
    await publisher.publish({ topic, messages: [{ data: "YQ==" }, { data: "Yg==" }] }, ONCE);
    await ack(...(await pull()));
    assert.deepEqual(pubsub.calls.of("Publish"), { calls: 1, entries: 2, open: 0 });
    assert.deepEqual(pubsub.calls.of("Acknowledge"), { calls: 1, entries: 2, open: 0 });
    const ending = new AbortController();
    const waiting = subscriber.pull({ subscription, maxMessages: 1 }, { ...ONCE, signal: ending.signal } as never);
    await until(() => pubsub.calls.of("Pull").open === 1);
    ending.abort();
    await assert.rejects(waiting);
    await until(() => pubsub.calls.of("Pull").open === 0);
  });

  it("answers with the error that a fault asks for, and applies nothing", async (test) => {
    const { queue, pubsub } = await openPubsub(test);
    const { send, texts, subscription } = queue();
    pubsub.faults.add({ operation: "Publish", error: { code: "RESOURCE_EXHAUSTED", message: "too many" } });
    await assert.rejects(send("a"), { code: RESOURCE_EXHAUSTED, details: "too many" });
    assert.deepEqual(pubsub.acts(subscription).messageIds(), []);
    await send("b");
    assert.deepEqual(await texts(), ["b"]);
  });

  it("breaks the connection before a call is applied, or after", async (test) => {
    const { queue, pubsub } = await openPubsub(test);
    const { send, subscription } = queue();
    const { messageIds } = pubsub.acts(subscription);
    pubsub.faults.add({ operation: "Publish", drop: "before" });
    await assert.rejects(send("a"), { code: UNAVAILABLE });
    assert.equal(messageIds().length, 0);
    const after = pubsub.faults.add({ operation: "Publish", drop: "after" });
    // The client may not have connected again yet.
    while (after.hits() === 0) await assert.rejects(send("b"), { code: UNAVAILABLE });
    assert.equal(messageIds().length, 1);
  });

  it("never answers a call that hangs, applied or not", async (test) => {
    const { queue, pubsub, publisher } = await openPubsub(test);
    const { topic, subscription } = queue();
    const request = { topic, messages: [{ data: "YQ==" }] };
    for (const [hang, there] of [
      ["before", 0],
      ["after", 1],
    ] as const) {
      const fault = pubsub.faults.add({ operation: "Publish", hang });
      const leaving = new AbortController();
      let isAnswered = false;
      const call = publisher.publish(request, { ...ONCE, signal: leaving.signal } as never);
      const left = assert.rejects(call, { code: CANCELLED }).finally(() => {
        isAnswered = true;
      });
      await until(() => fault.hits() === 1);
      // What was answered before this has arrived with its answer.
      await publisher.getTopic({ topic }, ONCE);
      assert.deepEqual([isAnswered, pubsub.acts(subscription).messageIds().length], [false, there]);
      leaving.abort();
      await left;
    }
  });

  it("lets in who brings the right token, and nobody else", async (test) => {
    const { pubsub, publisher } = await openPubsub(test, { accessKeyId: "right" });
    const topic = pubsub.createTopic("topic");
    const as = (token: string) => ({ ...ONCE, otherArgs: { headers: { authorization: `Bearer ${token}` } } });
    await publisher.getTopic({ topic }, as("right"));
    await assert.rejects(publisher.getTopic({ topic }, as("wrong")), { code: UNAUTHENTICATED });
    await assert.rejects(publisher.getTopic({ topic }, ONCE), { code: UNAUTHENTICATED });
  });

  it("keeps what it has while it is away, and comes back at the same port", async (test) => {
    const { queue, pubsub } = await openPubsub(test);
    const { send, texts } = queue();
    await send("a");
    await pubsub.pause();
    await assert.rejects(send("b"), { code: UNAVAILABLE });
    await pubsub.resume();
    assert.deepEqual(await connected(texts), ["a"]);
  });

  it("ends whoever waits when it goes away, and leases them nothing", async (test) => {
    const { queue, pubsub, subscriber } = await openPubsub(test);
    const { subscription, send, texts } = queue();
    const waiting = assert.rejects(subscriber.pull({ subscription, maxMessages: 1 }, ONCE), { code: UNAVAILABLE });
    const stream = openStream(subscriber, subscription);
    await until(() => pubsub.calls.of("Pull").open === 1 && stream.answers.length === 1);
    await pubsub.pause();
    await pubsub.pause();
    await Promise.all([waiting, stream.ended]);
    await until(() => pubsub.calls.of("Pull").open === 0 && pubsub.calls.of("StreamingPull").open === 0);
    await pubsub.resume();
    await pubsub.resume();
    await connected(() => send("a"));
    assert.deepEqual(await connected(texts), ["a"]);
    await pubsub.stop();
    await pubsub.stop();
  });

  it("leases nothing to a caller who was gone before the request arrived", async (test) => {
    const { queue, pubsub, subscriber, clock } = await openPubsub(test);
    const { subscription, send } = queue();
    await send("a");
    for (const returnImmediately of [true, false]) {
      pubsub.faults.add({ operation: "Pull", delayMs: 1_000 });
      const ending = new AbortController();
      const request = { subscription, maxMessages: 1, returnImmediately };
      const late = assert.rejects(subscriber.pull(request, { ...ONCE, signal: ending.signal } as never));
      await until(() => pubsub.calls.of("Pull").open === 1);
      ending.abort();
      await late;
      await until(() => pubsub.calls.of("Pull").open === 0);
      clock.advance(1_000);
      // The request is applied in a later turn than the one in which it arrives.
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(pubsub.acts(subscription).counts(), { visible: 1, inFlight: 0, delayed: 0 });
    }
  });

  it("says what it does not have", async (test) => {
    const { queue, subscriber, pubsub } = await openPubsub(test);
    const { subscription, topic } = queue();
    await assert.rejects(subscriber.seek({ subscription }, ONCE), { code: 12, details: /no seek/ });
    const name = subscription.replace("subscription-1", "filtered");
    await assert.rejects(subscriber.createSubscription({ name, topic, filter: "attributes:a" }, ONCE), {
      code: INVALID_ARGUMENT,
    });
    assert.throws(() => pubsub.acts("missing"), /missing/);
  });

  it("goes on after bytes that are no HTTP/2", async (test) => {
    const { queue, pubsub } = await openPubsub(test);
    const { send, texts } = queue();
    const socket = connect(Number(pubsub.endpoint.split(":")[1]), "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\n\r\n\u0000\u0001nonsense");
    await new Promise<void>((resolve) => socket.once("close", () => resolve()).resume());
    await send("a");
    assert.deepEqual(await texts(), ["a"]);
  });
});
