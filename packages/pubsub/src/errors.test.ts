import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ErrorCode, LeaseholdError, type Outcome } from "@leasehold/core/driver";
import { callOptions, createClients, type PubsubClients, ready } from "./client.ts";
import { fromPubsub, isUnclear, outcomeOf, outcomeOfVerdict, verdictsOf } from "./errors.ts";
import { EMPTY, type PlayedAnswer, type PlayedServer, playServer } from "./played-server.fixture.ts";

const TOO_LARGE =
  "The value for request_size is too large. You passed 10000013 in the request, but the maximum value is 10000000.";

/** What it is, the answer, what it means, and for an item of a batch. */
const ROWS: readonly (readonly [string, PlayedAnswer, ErrorCode, Outcome["status"]])[] = [
  ["cancelled by the server", { status: 1 }, "Unavailable", "unconfirmed"],
  ["unknown", { status: 2 }, "Unknown", "unconfirmed"],
  ["a malformed ack id (PS-02)", { status: 3, message: "Invalid ack id (ack_id=x)" }, "InvalidArgument", "failed"],
  ["too much for one request (PS-50)", { status: 3, message: TOO_LARGE }, "PayloadTooLarge", "failed"],
  ["the server's own deadline", { status: 4 }, "DeadlineExceeded", "unconfirmed"],
  ["no such subscription", { status: 5, message: "Resource not found (resource=orders)." }, "NotFound", "failed"],
  ["it exists", { status: 6 }, "Conflict", "failed"],
  ["not allowed", { status: 7, message: "User not authorized." }, "PermissionDenied", "failed"],
  ["throttled", { status: 8, message: "Quota exceeded" }, "ResourceExhausted", "failed"],
  ["detached", { status: 9 }, "Conflict", "failed"],
  ["aborted", { status: 10 }, "Unavailable", "unconfirmed"],
  ["out of range", { status: 11 }, "InvalidArgument", "failed"],
  ["unimplemented", { status: 12 }, "Unsupported", "failed"],
  ["internal", { status: 13 }, "Unavailable", "unconfirmed"],
  [
    "unavailable",
    { status: 14, message: "The service was unable to fulfill your request" },
    "Unavailable",
    "unconfirmed",
  ],
  ["data loss", { status: 15 }, "Unknown", "unconfirmed"],
  [
    "no credentials",
    { status: 16, message: "Request had invalid authentication credentials." },
    "PermissionDenied",
    "failed",
  ],
  ["a status of tomorrow", { status: 99 }, "Unknown", "unconfirmed"],
  ["a cut connection", "cut", "Unavailable", "unconfirmed"],
];

let server: PlayedServer;
let clients: PubsubClients;

before(async () => {
  server = await playServer();
  clients = server.connect();
});

after(() => server.close());

const SUBSCRIPTION = "projects/my-project/subscriptions/orders";

async function thrownBy(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("the call went well");
}

/** Of a call that is answered: long enough for a slow machine. */
const PATIENCE_MS = 60_000;

const acknowledge = (control = clients.control, timeoutMs = PATIENCE_MS): Promise<unknown> =>
  control.acknowledge({ subscription: SUBSCRIPTION, ackIds: ["x"] }, callOptions(timeoutMs));

for (const [row, answer, code, status] of ROWS) {
  test(`a failed call: ${row}`, async () => {
    server.play(() => answer);
    const before = server.calls.length;
    const error = fromPubsub(await thrownBy(acknowledge()), "acknowledging");
    assert.ok(error instanceof LeaseholdError);
    assert.equal(error.code, code, error.message);
    assert.notEqual(error.cause, undefined);
    assert.equal(outcomeOf(error).status, status);
    assert.equal(server.calls.length - before, 1, "the client has tried again");
    assert.doesNotMatch(error.message, /^acknowledging: \w+: \d+ /, "the status is named once");
  });
}

test("a pull and a publish that met a fault of the server are not repeated either", async () => {
  for (const status of [2, 8, 10, 13, 14]) {
    server.play(() => ({ status }));
    const before = server.calls.length;
    await thrownBy(clients.poll.pull({ subscription: SUBSCRIPTION, maxMessages: 1 }, callOptions(PATIENCE_MS)));
    const messages = [{ data: Buffer.from("x") }];
    await thrownBy(
      clients.publisher.publish({ topic: "projects/my-project/topics/orders", messages }, callOptions(PATIENCE_MS)),
    );
    assert.equal(server.calls.length - before, 2, `status ${status}`);
  }
});

test("a deadline of our own leaves open whether the call was applied", async () => {
  // A call that met no connection was not sent, and that is sure: there is one once a call was answered.
  server.play(() => EMPTY);
  await acknowledge();
  server.play(() => "hang");
  const error = fromPubsub(await thrownBy(acknowledge(clients.control, 1_000)), "acknowledging");
  assert.equal(error.code, "DeadlineExceeded", error.message);
  assert.equal(outcomeOf(error).status, "unconfirmed");
});

test("a permission that is missing is named, by the service or by us", async () => {
  server.play(() => ({ status: 7, message: "User not authorized to perform this action." }));
  const known = fromPubsub(await thrownBy(acknowledge()), "acknowledging", "pubsub.subscriptions.consume");
  assert.match(known.message, /pubsub\.subscriptions\.consume/);
  const metadata = { permission: "pubsub.subscriptions.get", service: "pubsub.googleapis.com" };
  server.play(() => ({ status: 7, infos: [{ reason: "IAM_PERMISSION_DENIED", metadata }] }));
  const told = fromPubsub(await thrownBy(acknowledge()), "asking", "something else");
  assert.equal(told.details["permission"], "pubsub.subscriptions.get");
  server.play(() => ({ status: 16 }));
  const nobody = fromPubsub(await thrownBy(acknowledge()), "acknowledging", "pubsub.subscriptions.consume");
  assert.doesNotMatch(nobody.message, /pubsub\.subscriptions/, "it is not the permission that is missing");
});

test("each ack id has its own verdict, from one ErrorInfo or from several (PS-04)", async () => {
  const infos = [
    { reason: "EXACTLY_ONCE_ACKID_FAILURE", metadata: { a: "PERMANENT_FAILURE_INVALID_ACK_ID" } },
    { reason: "EXACTLY_ONCE_ACKID_FAILURE", metadata: { b: "TRANSIENT_FAILURE_OTHER", c: "PERMANENT_FAILURE_OTHER" } },
  ];
  server.play(() => ({ status: 3, infos }));
  const thrown = await thrownBy(acknowledge());
  const verdicts = verdictsOf(thrown);
  assert.equal(verdicts.size, 3);
  const callError = fromPubsub(thrown, "acknowledging");
  const outcome = (ackId: string): Outcome => outcomeOfVerdict(verdicts.get(ackId), callError);
  assert.deepEqual(outcome("a"), { status: "lost" });
  const transient = outcome("b");
  assert.equal(transient.status === "failed" && transient.code, "Unavailable");
  const permanent = outcome("c");
  assert.equal(permanent.status === "failed" && permanent.code, "Unknown");
  assert.deepEqual(outcome("d"), { status: "unconfirmed", error: callError });
});

test("an ErrorInfo of another kind is no verdict", () => {
  for (const thrown of [
    undefined,
    "text",
    { errorInfoMetadata: { permission: "pubsub.subscriptions.consume" } },
    { errorInfoMetadata: null, statusDetails: [null, "x", { metadata: 7 }, { metadata: { a: 1 } }] },
  ]) {
    assert.equal(verdictsOf(thrown).size, 0);
  }
});

test("a server that is not there has applied nothing", async () => {
  const away = createClients({ apiEndpoint: "127.0.0.1:1", projectId: "my-project" });
  const error = fromPubsub(await thrownBy(acknowledge(away.control)), "acknowledging");
  assert.equal(error.code, "Unavailable");
  assert.equal(isUnclear(error), false, error.message);
  assert.equal(outcomeOf(error).status, "failed");
  for (const client of Object.values(away)) await client.close();
});

test("a client that was closed by its owner is Unavailable", async () => {
  const { poll, control, publisher } = server.connect();
  await ready(control);
  await control.close();
  const error = fromPubsub(await thrownBy(acknowledge(control)), "acknowledging");
  assert.equal(error.code, "Unavailable", error.message);
  assert.equal(outcomeOf(error).status, "failed");
  await Promise.all([poll.close(), publisher.close()]);
});

test("credentials that cannot be found are PermissionDenied, nothing is sent, and they are looked for again", async (context) => {
  const { GOOGLE_APPLICATION_CREDENTIALS: kept } = process.env;
  process.env["GOOGLE_APPLICATION_CREDENTIALS"] = "/no/such/key.json";
  context.after(() => {
    delete process.env["GOOGLE_APPLICATION_CREDENTIALS"];
    if (kept !== undefined) process.env["GOOGLE_APPLICATION_CREDENTIALS"] = kept;
  });
  const { poll, control, publisher } = createClients({ projectId: "my-project" });
  for (let attempt = 0; attempt < 2; attempt++) {
    const error = fromPubsub(await thrownBy(ready(control)), "acknowledging");
    assert.equal(error.code, "PermissionDenied", error.message);
    assert.match(error.message, /no\/such\/key/);
    assert.equal(outcomeOf(error).status, "failed");
    assert.equal(control.subscriberStub, undefined, "the failure is not kept");
  }
  await Promise.all([poll.close(), control.close(), publisher.close()]);
});

test("what is no error of Pub/Sub is understood as far as it can be", () => {
  const own = new LeaseholdError("NotFound", "its topic was deleted");
  assert.equal(fromPubsub(own, "asking"), own);
  const rows: readonly (readonly [unknown, ErrorCode, boolean])[] = [
    [Object.assign(new Error("connect ETIMEDOUT"), { code: "ETIMEDOUT" }), "Unknown", true],
    [new Error("Deadline exceeded after 8.0s,Waiting for LB pick"), "Unknown", true],
    [
      Object.assign(new Error("4 DEADLINE_EXCEEDED: Deadline exceeded after 8.0s,Waiting for LB pick"), { code: 4 }),
      "DeadlineExceeded",
      false,
    ],
    [
      Object.assign(
        new Error("4 DEADLINE_EXCEEDED: Deadline exceeded after 8.0s,LB pick: 0.1s,remote_addr=1.2.3.4:443"),
        { code: 4 },
      ),
      "DeadlineExceeded",
      true,
    ],
    [
      Object.assign(new Error("14 UNAVAILABLE: Name resolution failed for target dns:x"), { code: 14 }),
      "Unavailable",
      false,
    ],
    [new Error("whatever"), "Unknown", true],
    ["text", "Unknown", true],
    [undefined, "Unknown", true],
    [null, "Unknown", true],
  ];
  for (const [thrown, code, unclear] of rows) {
    const error = fromPubsub(thrown, "acknowledging");
    assert.equal(error.code, code, String(thrown));
    if (code !== "Unknown") assert.equal(isUnclear(error), unclear, String(thrown));
  }
});

test("a text is clipped: Pub/Sub repeats ack ids, and they are long", () => {
  const error = fromPubsub(
    { code: 3, message: `3 INVALID_ARGUMENT: Invalid ack id (ack_id=${"x".repeat(5_000)})` },
    "acknowledging",
  );
  assert.ok(error.message.length < 400);
});
