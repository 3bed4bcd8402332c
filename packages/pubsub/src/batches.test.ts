import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { acknowledgeBatch, changeBatch, publishBatch, type SubscriptionTarget, type TopicTarget } from "./batches.ts";
import type { PublishEntry } from "./messages.ts";
import {
  EMPTY,
  type PlayedCall,
  type PlayedServer,
  playServer,
  published,
  readAcknowledge,
  readChange,
  readPublish,
  refusedIds,
} from "./played-server.fixture.ts";

let server: PlayedServer;
let atLeastOnce: SubscriptionTarget;
let exactlyOnce: SubscriptionTarget;
let topic: TopicTarget;

before(async () => {
  server = await playServer();
  const { control, publisher } = server.connect();
  atLeastOnce = { control, subscription: "projects/my-project/subscriptions/orders", exactlyOnce: false };
  exactlyOnce = { ...atLeastOnce, exactlyOnce: true };
  topic = { publisher, topic: "projects/my-project/topics/orders" };
});

beforeEach(() => {
  server.play(() => EMPTY);
  server.forget();
});

after(() => server.close());

const statuses = (outcomes: readonly { readonly status: string }[]): string[] => outcomes.map((one) => one.status);
const acknowledged = (): string[][] => server.calls.map((call) => readAcknowledge(call).ackIds);
const entry = (bytes: number, mark = "x"): PublishEntry => ({ data: Buffer.from(mark.repeat(bytes)), attributes: {} });

test("an answer proves what was applied with exactly-once delivery alone (PS-02, PS-04)", async () => {
  assert.deepEqual(statuses(await acknowledgeBatch(atLeastOnce, ["a", "b"])), ["unconfirmed", "unconfirmed"]);
  assert.deepEqual(statuses(await acknowledgeBatch(exactlyOnce, ["a", "b"])), ["confirmed", "confirmed"]);
  assert.deepEqual(await acknowledgeBatch(exactlyOnce, []), []);
  assert.deepEqual(acknowledged(), [
    ["a", "b"],
    ["a", "b"],
  ]);
});

test("an ack id that is there twice is sent once and answered twice", async () => {
  assert.deepEqual(statuses(await acknowledgeBatch(exactlyOnce, ["a", "b", "a"])), [
    "confirmed",
    "confirmed",
    "confirmed",
  ]);
  assert.deepEqual(acknowledged(), [["a", "b"]]);
});

test("in a batch that partly failed each id has its own outcome, and one that is not mentioned is unconfirmed", async () => {
  server.play(() => refusedIds({ a: "PERMANENT_FAILURE_INVALID_ACK_ID" }, { b: "TRANSIENT_FAILURE_OTHER" }));
  const [first, second, third] = await acknowledgeBatch(exactlyOnce, ["a", "b", "c"]);
  assert.deepEqual(first, { status: "lost" });
  assert.equal(second?.status === "failed" && second.code, "Unavailable");
  assert.equal(third?.status === "unconfirmed" && third.error?.code, "InvalidArgument");
  assert.equal(server.calls.length, 1);
});

test("a malformed id fails alone: a call that was refused for it is made for its halves", async () => {
  const refused = { status: 3, message: "Invalid ack id (ack_id=bad)" };
  server.play((call) => (readAcknowledge(call).ackIds.includes("bad") ? refused : EMPTY));
  const outcomes = await acknowledgeBatch(exactlyOnce, ["a", "b", "bad", "c", "d"]);
  assert.deepEqual(statuses(outcomes), ["confirmed", "confirmed", "failed", "confirmed", "confirmed"]);
  assert.equal(outcomes[2]?.status === "failed" && outcomes[2].code, "InvalidArgument");
  const applied = acknowledged().filter((ackIds) => !ackIds.includes("bad"));
  assert.deepEqual(applied.flat().sort(), ["a", "b", "c", "d"], "each good one once");
});

test("a call that failed for another reason is made once, and is the outcome of all", async () => {
  server.play(() => ({ status: 14 }));
  assert.deepEqual(statuses(await acknowledgeBatch(atLeastOnce, ["a", "b", "c"])), [
    "unconfirmed",
    "unconfirmed",
    "unconfirmed",
  ]);
  assert.equal(server.calls.length, 1);
});

test("deadlines are set with one call for each that occurs", async () => {
  const changes = [
    { token: "a", seconds: 60 },
    { token: "b", seconds: 0 },
    { token: "c", seconds: 60 },
  ];
  server.play((call) => (readChange(call).ackDeadlineSeconds === 0 ? { status: 8 } : EMPTY));
  assert.deepEqual(statuses(await changeBatch(exactlyOnce, changes)), ["confirmed", "failed", "confirmed"]);
  const calls = server.calls.map(readChange).map(({ ackIds, ackDeadlineSeconds }) => [ackDeadlineSeconds, ackIds]);
  assert.deepEqual(
    new Map(calls as [number, string[]][]),
    new Map([
      [60, ["a", "c"]],
      [0, ["b"]],
    ]),
  );
});

/** As long as the service makes them (PS-01). */
const longIds = Array.from({ length: 1_000 }, (_, index) => `${index}.`.padEnd(600, "x"));

test("ack ids of a call stay below 512 KiB (PS-26)", async () => {
  await acknowledgeBatch(atLeastOnce, longIds);
  assert.equal(server.calls.length, 2);
  for (const { request } of server.calls) assert.ok(request.length < 512 * 1_024, `${request.length} bytes`);
  assert.deepEqual(acknowledged().flat().sort(), [...longIds].sort());
});

test("with exactly-once delivery the verdicts on all ids of a call fit into what HTTP/2 brings", async () => {
  server.play((call) => {
    const { ackIds } = readAcknowledge(call);
    return refusedIds(Object.fromEntries(ackIds.map((ackId) => [ackId, "PERMANENT_FAILURE_INVALID_ACK_ID"])));
  });
  const outcomes = await acknowledgeBatch(exactlyOnce, longIds);
  assert.deepEqual([...new Set(statuses(outcomes))], ["lost"]);
});

test("a publish is answered message by message, in order", async () => {
  server.play(() => published("1", "2"));
  assert.deepEqual(await publishBatch(topic, [entry(1), entry(2)]), [
    { status: "confirmed", messageId: "1" },
    { status: "confirmed", messageId: "2" },
  ]);
});

test("an answer that mentions too few messages leaves the others open", async () => {
  server.play(() => published("1"));
  assert.deepEqual(statuses(await publishBatch(topic, [entry(1), entry(2)])), ["confirmed", "unconfirmed"]);
});

test("a publish stays below 10 MB a request, in order, and ends with the first that failed", async () => {
  const entries = ["a", "b", "c", "d"].map((mark) => entry(4_000_000, mark));
  const marks = (call: PlayedCall) =>
    readPublish(call).messages.map(({ data }) => Buffer.from(data ?? []).toString("utf8", 0, 1));
  server.play((call) => published(...marks(call)));
  const outcomes = await publishBatch(topic, entries);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status === "confirmed" && outcome.messageId),
    ["a", "b", "c", "d"],
  );
  assert.deepEqual(server.calls.map(marks), [
    ["a", "b"],
    ["c", "d"],
  ]);
  for (const { request } of server.calls) assert.ok(request.length < 10_000_000);

  server.forget();
  server.play((call) => (marks(call).includes("a") ? { status: 8 } : published(...marks(call))));
  const broken = await publishBatch(topic, entries);
  assert.deepEqual(statuses(broken), ["failed", "failed", "failed", "failed"], "c and d would overtake a and b");
  assert.equal(server.calls.length, 1);
});

test("a publish whose answer is lost is unconfirmed, and what follows was not sent", async () => {
  server.play(() => "cut");
  assert.deepEqual(statuses(await publishBatch(topic, [entry(6_000_000), entry(6_000_000)])), [
    "unconfirmed",
    "failed",
  ]);
});
