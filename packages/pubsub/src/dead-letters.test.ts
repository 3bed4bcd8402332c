import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { DeadLetters, QueueDriver, SettleItem } from "@leasehold/core/driver";
import {
  EMPTY,
  type PlayedAnswer,
  type PlayedCall,
  type PlayedServer,
  playServer,
  published,
  readAcknowledge,
  readPublish,
} from "./played-server.fixture.ts";
import { createPubsubQueue } from "./queue.ts";

let server: PlayedServer;
let driver: QueueDriver;
let letters: DeadLetters;

before(async () => {
  server = await playServer();
  driver = createPubsubQueue({
    project: "my-project",
    topic: "orders",
    subscription: "orders-worker",
    deadLetterTopic: "dead",
    deadLetterSubscription: "letters",
    clients: server.connect(),
  });
  letters = driver.deadLetters ?? assert.fail("there are dead letters to look at");
});

beforeEach(() => server.forget());

after(async () => {
  await driver.close();
  await server.close();
});

function delivery(token: string, attributes: Readonly<Record<string, string>> = {}) {
  return { token, messageId: `id-${token}`, body: `body-${token}`, attributes, leaseMs: 1_000 };
}

function bury(token: string, text = "cannot be handled"): SettleItem {
  return { verb: "dead-letter", delivery: delivery(token), reason: { code: "poison", text }, copyId: "copy", fence: 7 };
}

/** How publishes are answered; by default each message has its body for an id. */
function play(
  answer: (call: PlayedCall, bodies: readonly string[]) => PlayedAnswer | undefined = () => undefined,
): void {
  server.play((call) => {
    if (call.method !== "Publish") return EMPTY;
    const bodies = readPublish(call).messages.map(({ data }) => Buffer.from(data ?? []).toString());
    return answer(call, bodies) ?? published(...bodies);
  });
}

const methods = (): string[] => server.calls.map((call) => call.method);
const acknowledged = (): string[] =>
  server.calls.filter((call) => call.method === "Acknowledge").flatMap((call) => readAcknowledge(call).ackIds);

test("a copy with the reason and its source is published first, the message acknowledged then (PS-43)", async () => {
  play();
  assert.deepEqual(await driver.settle([bury("a")]), [{ status: "unconfirmed" }]);
  assert.deepEqual(methods(), ["Publish", "Acknowledge"]);
  const { topic, messages } = readPublish(server.calls[0] as PlayedCall);
  assert.equal(topic, "projects/my-project/topics/dead");
  assert.deepEqual(messages[0]?.attributes, {
    deadletterreason: "poison",
    deadletterdescription: "cannot be handled",
    deadletterfence: "7",
    CloudPubSubDeadLetterSourceSubscription: "orders-worker",
    CloudPubSubDeadLetterSourceSubscriptionProject: "my-project",
  });
  assert.deepEqual(acknowledged(), ["a"]);
});

test("a message whose copy failed, or may have, is not acknowledged", async () => {
  for (const [answer, status] of [
    [{ status: 14 }, "unconfirmed"],
    ["cut", "unconfirmed"],
    [{ status: 8 }, "failed"],
  ] as const) {
    server.forget();
    play(() => answer);
    const [outcome] = await driver.settle([bury("a")]);
    assert.equal(outcome?.status, status);
    assert.deepEqual(methods(), ["Publish"]);
  }
});

test("a copy that is refused is published once more with the code only; what cannot be copied stays", async () => {
  play(({ request }, bodies) => {
    const [message] = readPublish({ method: "Publish", request, timeoutMs: 0 }).messages;
    const isLong = message?.attributes?.["deadletterdescription"] !== undefined;
    return isLong || bodies.includes("body-never") ? { status: 3, message: "request_size is too large" } : undefined;
  });
  const [fits, never] = await driver.settle([bury("fits"), bury("never")]);
  assert.equal(fits?.status, "unconfirmed");
  assert.equal(never?.status === "failed" && never.code, "PayloadTooLarge");
  assert.deepEqual(acknowledged(), ["fits"]);
});

test("once copies are not answered, no more are tried one by one: each would take as long", async () => {
  play((_, bodies) => (bodies.length > 1 ? { status: 3 } : { status: 14 }));
  const outcomes = await driver.settle([bury("a"), bury("b"), bury("c")]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === "failed" ? outcome.code : outcome.status)),
    ["unconfirmed", "Unavailable", "Unavailable"],
  );
  assert.deepEqual(methods(), ["Publish", "Publish"]);
});

test("a letter is sent back to the queue's topic as it was, and acknowledged then", async () => {
  play();
  const attributes = { kept: "yes", deadletterreason: "poison", CloudPubSubDeadLetterSourceDeliveryCount: "5" };
  assert.deepEqual(await letters.redrive([{ delivery: delivery("a", attributes) }]), [{ status: "unconfirmed" }]);
  assert.deepEqual(methods(), ["Publish", "Acknowledge"]);
  const { topic, messages } = readPublish(server.calls[0] as PlayedCall);
  assert.deepEqual([topic, messages[0]?.attributes], ["projects/my-project/topics/orders", { kept: "yes" }]);
  assert.equal(
    readAcknowledge(server.calls[1] as PlayedCall).subscription,
    "projects/my-project/subscriptions/letters",
  );
});

test("a letter of another subscription is not sent into this one's queue", async () => {
  play();
  const from = (project: string, subscription: string) => ({
    CloudPubSubDeadLetterSourceSubscription: subscription,
    CloudPubSubDeadLetterSourceSubscriptionProject: project,
  });
  const outcomes = await letters.redrive([
    { delivery: delivery("own", from("my-project", "orders-worker")) },
    { delivery: delivery("other", from("my-project", "others")) },
    { delivery: delivery("namesake", from("my-project-2", "orders-worker")) },
    { delivery: delivery("unsaid") },
    { delivery: delivery("numbered", from("123456789012", "orders-worker")) },
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === "failed" ? outcome.code : outcome.status)),
    ["unconfirmed", "InvalidArgument", "InvalidArgument", "unconfirmed", "unconfirmed"],
  );
  assert.deepEqual(acknowledged(), ["own", "unsaid", "numbered"]);
});

test("without a dead-letter topic what is dead-lettered is acknowledged: the record is the dead letter", async () => {
  play();
  const names = { project: "my-project", topic: "orders", subscription: "orders-worker" };
  const plain = createPubsubQueue({ ...names, clients: server.connect() });
  assert.deepEqual([plain.capabilities.deadLetter, plain.deadLetters], ["store", undefined]);
  await plain.settle([bury("a")]);
  assert.deepEqual(methods(), ["Acknowledge"]);
});
