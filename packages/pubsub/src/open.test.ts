import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { protos } from "@google-cloud/pubsub";
import type { Logger, QueueDriver } from "@leasehold/core/driver";
import { type OpenPubsubQueueOptions, openPubsubQueue, openQueue } from "./open.ts";
import { EMPTY, type PlayedAnswer, type PlayedServer, playServer } from "./played-server.fixture.ts";

const { GetSubscriptionRequest, ListTopicSubscriptionsResponse, Subscription } = protos.google.pubsub.v1;
type Settings = protos.google.pubsub.v1.ISubscription;

const TOPIC = "projects/my-project/topics/orders";
const DEAD = "projects/my-project/topics/dead";
const ORDERS = "projects/my-project/subscriptions/orders";
const LETTERS = "projects/my-project/subscriptions/letters";
const OTHERS = "projects/other/subscriptions/others";
const POLICY = { deadLetterTopic: DEAD, maxDeliveryAttempts: 100 };

let server: PlayedServer;
const warnings: unknown[] = [];
const logger: Logger = { info() {}, error() {}, warn: (_message, fields) => warnings.push(fields) };

before(async () => {
  server = await playServer();
});

beforeEach(() => {
  server.forget();
  warnings.length = 0;
});

after(() => server.close());

/** What there is: subscriptions by their full names, and those of the dead-letter topic. */
function play(subscriptions: Readonly<Record<string, Settings | PlayedAnswer>>, letters: readonly string[] = []): void {
  server.play(({ method, request }) => {
    if (method === "ListTopicSubscriptions") {
      return { body: ListTopicSubscriptionsResponse.encode({ subscriptions: [...letters] }).finish() };
    }
    if (method !== "GetSubscription") return EMPTY;
    const found = subscriptions[GetSubscriptionRequest.decode(request).subscription];
    if (found === undefined) return { status: 5 };
    if (typeof found === "string" || "status" in found || "body" in found) return found;
    return { body: Subscription.encode({ topic: TOPIC, ...found }).finish() };
  });
}

async function open(options: Partial<OpenPubsubQueueOptions> = {}): Promise<QueueDriver> {
  const names = { project: "my-project", topic: "orders", subscription: "orders" };
  return openPubsubQueue({ ...names, clients: server.connect(), logger, ...options });
}

test("the subscription says how it is set up", async () => {
  play({ [ORDERS]: {} });
  const plain = await open();
  assert.deepEqual([plain.provider, plain.queue], ["pubsub", "orders"]);
  const { settleConfirmation, ordering, deadLetter } = plain.capabilities;
  assert.deepEqual([settleConfirmation, ordering, deadLetter], ["unconfirmed", false, "store"]);
  assert.equal(plain.deadLetters, undefined);
  play({ [ORDERS]: { enableExactlyOnceDelivery: true, enableMessageOrdering: true } });
  const able = (await openQueue("pubsub://my-project/orders/orders", { clients: server.connect() })).capabilities;
  assert.deepEqual([able.settleConfirmation, able.ordering], ["confirmed", true]);
});

test("dead letters go where the policy says, and are looked at in the first subscription there that can be pulled", async () => {
  const found = {
    [OTHERS]: { status: 7 },
    "projects/my-project/subscriptions/gone": { status: 5 },
    "projects/my-project/subscriptions/pushed": { topic: DEAD, pushConfig: { pushEndpoint: "https://example.com" } },
    "projects/my-project/subscriptions/table": { topic: DEAD, bigqueryConfig: { table: "a.b.c" } },
    "projects/my-project/subscriptions/bucket": { topic: DEAD, cloudStorageConfig: { bucket: "letters" } },
    [LETTERS]: { topic: DEAD },
  };
  play({ [ORDERS]: { deadLetterPolicy: POLICY }, ...found }, Object.keys(found));
  const driver = await open();
  assert.equal(driver.capabilities.deadLetter, "copy");
  server.forget();
  assert.deepEqual(await driver.deadLetters?.look({ max: 1, leaseMs: 1_000 }), []);
  const [pull] = server.calls;
  assert.equal(protos.google.pubsub.v1.PullRequest.decode(pull?.request ?? new Uint8Array()).subscription, LETTERS);
  play({ [ORDERS]: { deadLetterPolicy: POLICY }, [OTHERS]: { status: 7 } }, [OTHERS]);
  const blind = await open();
  assert.equal(blind.capabilities.deadLetter, "copy", "copies are made, and looked at by somebody else");
  assert.equal(blind.deadLetters, undefined);
});

test("a dead-letter topic without a subscription is refused: what is sent there is lost (PS-42)", async () => {
  play({ [ORDERS]: { deadLetterPolicy: POLICY } });
  await assert.rejects(open(), { code: "InvalidArgument", message: /^deadLetterTopic: .*subscription/ });
  play({ [ORDERS]: {} });
  await assert.rejects(open({ deadLetterTopic: "dead" }), { code: "InvalidArgument", message: /^deadLetterTopic/ });
});

test("dead letters go where an option says, and are looked at where it says", async () => {
  const letters = { [OTHERS]: { topic: DEAD }, [LETTERS]: { topic: DEAD, enableExactlyOnceDelivery: true } };
  play({ [ORDERS]: {}, ...letters }, [OTHERS, LETTERS]);
  const driver = await open({ deadLetterTopic: "dead", deadLetterSubscription: "letters" });
  assert.equal(driver.capabilities.deadLetter, "copy");
  const delivery = { token: "a", messageId: "1", body: "{}", attributes: {}, leaseMs: 1 };
  assert.deepEqual(
    await driver.deadLetters?.purge([{ delivery }]),
    [{ status: "confirmed" }],
    "as sure as the letters",
  );
  for (const [options, answers] of [
    [{ deadLetterTopic: "dead", deadLetterSubscription: "orders" }, letters],
    [{ deadLetterTopic: "dead", deadLetterSubscription: "letters" }, { [LETTERS]: { topic: DEAD, detached: true } }],
    [{ deadLetterSubscription: "letters" }, letters],
  ] as const) {
    play({ [ORDERS]: {}, ...answers }, [OTHERS, LETTERS]);
    await assert.rejects(open(options), { code: "InvalidArgument", message: /^deadLetterSubscription/ });
  }
});

test("a subscription that would never give what is sent is refused", async () => {
  play({ [ORDERS]: { topic: "projects/my-project/topics/other" } });
  await assert.rejects(open(), { code: "InvalidArgument", message: /topics\/orders.*topics\/other/ });
  play({ [ORDERS]: { topic: "_deleted-topic_" } });
  await assert.rejects(open(), { code: "NotFound", message: /topic was deleted/ });
  play({ [ORDERS]: { pushConfig: { pushEndpoint: "https://example.com" } } });
  await assert.rejects(open(), { code: "InvalidArgument", message: /^subscription: .*push/ });
  play({});
  await assert.rejects(open(), { code: "NotFound" });
});

test("a permission that opening needs is named", async () => {
  play({ [ORDERS]: { status: 7 } });
  await assert.rejects(open(), { code: "PermissionDenied", message: /pubsub\.subscriptions\.get/ });
  server.play(({ method }) => {
    if (method === "ListTopicSubscriptions") return { status: 7 };
    return { body: Subscription.encode({ topic: TOPIC, deadLetterPolicy: POLICY }).finish() };
  });
  await assert.rejects(open(), { code: "PermissionDenied", message: /pubsub\.topics\.get/ });
});

test("a policy that takes messages away early is reported, also where it leaves the number out (PS-41)", async () => {
  for (const [maxDeliveryAttempts, warned] of [
    [0, [5]],
    [5, [5]],
    [49, [49]],
    [50, []],
    [100, []],
  ] as const) {
    warnings.length = 0;
    play({ [ORDERS]: { deadLetterPolicy: { ...POLICY, maxDeliveryAttempts } }, [LETTERS]: { topic: DEAD } }, [LETTERS]);
    await open();
    assert.deepEqual(
      warnings,
      warned.map((number) => ({ queue: "orders", maxDeliveryAttempts: number })),
    );
  }
});
