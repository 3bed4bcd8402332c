import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Logger, QueueDriver } from "@leasehold/core/driver";
import {
  EMPTY,
  type PlayedAnswer,
  type PlayedCall,
  type PlayedServer,
  playServer,
  pulled,
  readChange,
  readPull,
  refusedIds,
} from "./played-server.fixture.ts";
import { createPubsubQueue, type PubsubQueueOptions } from "./queue.ts";

let server: PlayedServer;
const warnings: unknown[] = [];
const logger: Logger = { info() {}, error() {}, warn: (_message, fields) => warnings.push(fields?.["leased"]) };

before(async () => {
  server = await playServer();
});

beforeEach(() => {
  server.forget();
  warnings.length = 0;
});

after(() => server.close());

function queue(options: Partial<PubsubQueueOptions> = {}): QueueDriver {
  const names = { project: "my-project", topic: "orders", subscription: "orders" };
  return createPubsubQueue({ ...names, clients: server.connect(), logger, ...options });
}

/** The answers to a pull and to what follows it. */
function play(answers: Readonly<Record<string, PlayedAnswer | ((call: PlayedCall) => PlayedAnswer)>>): void {
  server.play((call) => {
    const answer = answers[call.method] ?? EMPTY;
    return typeof answer === "function" ? answer(call) : answer;
  });
}

/** An answer, and what happens as it is given. */
function doing(act: () => unknown, answer: PlayedAnswer = EMPTY): () => PlayedAnswer {
  return () => {
    act();
    return answer;
  };
}

const methods = (): string[] => server.calls.map((call) => call.method);
const tokens = (deliveries: readonly { readonly token: string }[]): string[] => deliveries.map(({ token }) => token);
const REQUEST = { max: 10, waitMs: 0, leaseMs: 30_000 };

test("what was pulled is leased by one call before it is handed out, and what that took is not promised", async () => {
  let now = 0;
  play({
    Pull: pulled("a", "b"),
    ModifyAckDeadline: doing(() => {
      now += 1_500;
    }),
  });
  const clock = { now: () => now, monotonic: () => now, setTimer: () => assert.fail("a driver has no timers") };
  const deliveries = await queue({ clock }).receive({ ...REQUEST, leaseMs: 29_001 });
  assert.deepEqual(methods(), ["Pull", "ModifyAckDeadline"]);
  const change = readChange(server.calls[1] as PlayedCall);
  assert.deepEqual([change.ackIds, change.ackDeadlineSeconds], [["a", "b"], 30]);
  assert.deepEqual(tokens(deliveries), ["a", "b"]);
  assert.deepEqual(
    [deliveries[0]?.body, deliveries[0]?.sentAt, deliveries[0]?.leaseMs],
    ["a", 1_700_000_000_005, 28_500],
  );
});

test("without exactly-once delivery a first extension that failed hands out nothing, and says why", async () => {
  for (const [answer, code] of [
    [{ status: 14 }, "Unavailable"],
    [{ status: 8 }, "ResourceExhausted"],
    ["cut", "Unavailable"],
  ] as const) {
    play({ Pull: pulled("a", "b"), ModifyAckDeadline: answer });
    await assert.rejects(queue().receive(REQUEST), { code });
  }
});

test("with exactly-once delivery only what was confirmed is handed out (PS-04)", async () => {
  play({ Pull: pulled("a", "b", "c"), ModifyAckDeadline: refusedIds({ a: "PERMANENT_FAILURE_INVALID_ACK_ID" }) });
  await assert.rejects(
    queue({ exactlyOnce: true }).receive(REQUEST),
    { code: "InvalidArgument" },
    "b and c are not sure",
  );
  const long = ["a", "b"].map((mark) => mark.repeat(30_000));
  const lost = (call: PlayedCall): PlayedAnswer => {
    const ackIds = readChange(call).ackIds.filter((ackId) => ackId.startsWith("a"));
    return ackIds.length === 0 ? EMPTY : refusedIds({ [String(ackIds[0])]: "PERMANENT_FAILURE_INVALID_ACK_ID" });
  };
  play({ Pull: pulled(...long), ModifyAckDeadline: lost });
  const driver = queue({ exactlyOnce: true });
  assert.deepEqual(tokens(await driver.receive(REQUEST)), [long[1]]);
  assert.deepEqual(warnings, [1]);
  play({ Pull: pulled("a"), ModifyAckDeadline: lost });
  assert.deepEqual(await driver.receive(REQUEST), [], "nobody holds it here, and nothing went wrong");
});

test("a wait is the deadline of the call, and a receive that does not wait asks for an answer at once", async () => {
  const driver = queue();
  for (const [waitMs, isImmediate, fromMs, toMs] of [
    [0, true, 0, 8_000],
    [999, true, 0, 8_000],
    [20_000, false, 8_000, 20_000],
    [Number.POSITIVE_INFINITY, false, 20_000, 90_000],
  ] as const) {
    server.forget();
    assert.deepEqual(await driver.receive({ ...REQUEST, max: 7, waitMs }), []);
    const [call] = server.calls as [PlayedCall];
    const { maxMessages, returnImmediately } = readPull(call);
    assert.deepEqual([maxMessages, returnImmediately], [7, isImmediate], String(waitMs));
    assert.ok(call.timeoutMs > fromMs && call.timeoutMs <= toMs, `${waitMs} ms: the deadline is ${call.timeoutMs} ms`);
  }
});

test("a deadline that passes is an empty queue for a wait, and a failure for a receive that does not wait (PS-28)", async () => {
  play({ Pull: { status: 4, message: "Deadline Exceeded" } });
  const driver = queue();
  assert.deepEqual(await driver.receive({ ...REQUEST, waitMs: 5_000 }), []);
  await assert.rejects(driver.receive(REQUEST), { code: "DeadlineExceeded" });
  play({ Pull: "hang" });
  assert.deepEqual(await driver.receive({ ...REQUEST, waitMs: 2_000 }), [], "the deadline of the client is the same");
});

test("an abort cancels the call and is an empty answer; closing is Unavailable", async () => {
  const controller = new AbortController();
  play({ Pull: doing(() => controller.abort(), "hang") });
  const driver = queue();
  assert.deepEqual(await driver.receive({ ...REQUEST, waitMs: 60_000, signal: controller.signal }), []);
  assert.deepEqual(await driver.receive({ ...REQUEST, signal: AbortSignal.abort() }), []);
  assert.deepEqual(methods(), ["Pull"], "one that was aborted before it began makes no call");
  play({ Pull: doing(() => void driver.close(), "hang") });
  await assert.rejects(driver.receive({ ...REQUEST, waitMs: 60_000 }), { code: "Unavailable" });
});

test("what came as the wait was aborted is leased and handed out: it is held, and somebody has to give it back", async () => {
  const controller = new AbortController();
  play({ Pull: pulled("a"), ModifyAckDeadline: doing(() => controller.abort()) });
  assert.deepEqual(tokens(await queue().receive({ ...REQUEST, signal: controller.signal })), ["a"]);
});

test("a queue that is missing, or closed to us, is not an empty one", async () => {
  play({ Pull: { status: 5 } });
  await assert.rejects(queue().receive({ ...REQUEST, waitMs: 5_000 }), { code: "NotFound" });
  play({ Pull: { status: 7 } });
  await assert.rejects(queue().receive(REQUEST), {
    code: "PermissionDenied",
    message: /pubsub\.subscriptions\.consume/,
  });
});

test("delays are whole seconds, rounded up", async () => {
  const driver = queue();
  const delivery = { token: "a", messageId: "1", body: "{}", attributes: {}, leaseMs: 1 };
  play({});
  for (const [delayMs, seconds] of [
    [0, 0],
    [1, 1],
    [1_000, 1],
    [599_001, 600],
    [600_000, 600],
  ] as const) {
    server.forget();
    await driver.settle([{ verb: "abandon", delivery, delayMs, copyId: "copy" }]);
    assert.equal(readChange(server.calls[0] as PlayedCall).ackDeadlineSeconds, seconds, String(delayMs));
  }
});
