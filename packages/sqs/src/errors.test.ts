import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { DeleteMessageCommand, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import { type ErrorCode, LeaseholdError, type Outcome } from "@leasehold/core/driver";
import { createClients, type SqsClients } from "./client.ts";
import { fromSqs, isUnclear, outcomeOf } from "./errors.ts";

/** What a server answers; the client of the vendor makes the error of it. */
interface Wire {
  readonly status: number;
  /** Name of the shape. */
  readonly type?: string;
  /** The header with the code of the query protocol. */
  readonly query?: string;
  readonly message?: string;
  readonly body?: string;
}

const EXPIRED = "Value x for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.";
const GONE =
  "Value x for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.";
const BEYOND =
  "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]";
const TOO_LONG = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.";

/** Row of the fact, the answer, what it means, and for an item of a batch. */
const ROWS: readonly (readonly [string, Wire, ErrorCode, Outcome["status"]])[] = [
  [
    "SQS-20",
    { status: 400, type: "InvalidParameterValue", query: "InvalidParameterValue", message: EXPIRED },
    "LeaseLost",
    "lost",
  ],
  ["SQS-21", { status: 400, type: "InvalidParameterValueException", message: EXPIRED }, "LeaseLost", "lost"],
  [
    "SQS-11",
    { status: 400, type: "InvalidParameterValue", query: "InvalidParameterValue", message: GONE },
    "LeaseLost",
    "lost",
  ],
  ["SQS-11 bare", { status: 400, type: "InvalidParameterValueException", message: GONE }, "LeaseLost", "lost"],
  [
    "SQS-05",
    { status: 400, type: "InvalidParameterValue", query: "InvalidParameterValue", message: BEYOND },
    "InvalidArgument",
    "failed",
  ],
  [
    "SQS-22",
    { status: 404, type: "ReceiptHandleIsInvalid", query: "ReceiptHandleIsInvalid" },
    "InvalidArgument",
    "failed",
  ],
  ["SQS-22 bare", { status: 404, type: "ReceiptHandleIsInvalid" }, "InvalidArgument", "failed"],
  [
    "SQS-23",
    { status: 400, type: "MessageNotInflight", query: "AWS.SimpleQueueService.MessageNotInflight" },
    "LeaseLost",
    "lost",
  ],
  ["SQS-23 bare", { status: 400, type: "MessageNotInflight" }, "LeaseLost", "lost"],
  [
    "SQS-24",
    { status: 400, type: "QueueDoesNotExist", query: "AWS.SimpleQueueService.NonExistentQueue" },
    "NotFound",
    "failed",
  ],
  ["SQS-24 bare", { status: 400, type: "QueueDoesNotExist" }, "NotFound", "failed"],
  ["SQS-25", { status: 403, type: "RequestThrottled", query: "RequestThrottled" }, "ResourceExhausted", "failed"],
  ["SQS-25 of other services", { status: 400, type: "ThrottlingException" }, "ResourceExhausted", "failed"],
  ["SQS-26", { status: 403, type: "OverLimit", query: "OverLimit" }, "ResourceExhausted", "failed"],
  ["SQS-27", { status: 500, type: "InternalFailure", query: "InternalFailure" }, "Unavailable", "unconfirmed"],
  ["503 without a word", { status: 503, body: "" }, "Unavailable", "unconfirmed"],
  ["502 of a proxy", { status: 502, body: "<html>Bad Gateway</html>" }, "Unavailable", "unconfirmed"],
  ["200 of a proxy", { status: 200, body: "<html>Welcome</html>" }, "Unknown", "unconfirmed"],
  ["429 without a word", { status: 429, body: "" }, "ResourceExhausted", "failed"],
  [
    "SQS-43",
    { status: 400, type: "InvalidParameterValue", query: "InvalidParameterValue", message: TOO_LONG },
    "PayloadTooLarge",
    "failed",
  ],
  [
    "SQS-41",
    { status: 400, type: "BatchRequestTooLong", query: "AWS.SimpleQueueService.BatchRequestTooLong" },
    "PayloadTooLarge",
    "failed",
  ],
  [
    "SQS-44",
    { status: 400, type: "InvalidMessageContents", query: "InvalidMessageContents" },
    "InvalidArgument",
    "failed",
  ],
  ["access", { status: 403, type: "AccessDeniedException", query: "AccessDenied" }, "PermissionDenied", "failed"],
  ["key", { status: 403, type: "InvalidClientTokenId", query: "InvalidClientTokenId" }, "PermissionDenied", "failed"],
  ["key bare", { status: 403, type: "UnrecognizedClientException" }, "PermissionDenied", "failed"],
  ["token", { status: 403, type: "ExpiredTokenException" }, "PermissionDenied", "failed"],
  ["KMS", { status: 400, type: "KmsAccessDenied", query: "KMS.AccessDeniedException" }, "PermissionDenied", "failed"],
  ["a code of tomorrow", { status: 400, type: "SomethingNew", query: "SomethingNew" }, "InvalidArgument", "failed"],
  ["another of tomorrow", { status: 403, type: "SomethingNewException" }, "PermissionDenied", "failed"],
  [
    "clock",
    {
      status: 403,
      type: "InvalidSignatureException",
      message: "Signature expired: 20260101T000000Z is now earlier than",
    },
    "Unavailable",
    "unconfirmed",
  ],
];

let answer: Wire | "cut" = "cut";
let requests = 0;
const server = createServer((request, response) => {
  requests++;
  request.resume();
  if (answer === "cut") {
    response.socket?.destroy();
    return;
  }
  const { status, type, query, message = "a text", body } = answer;
  response.writeHead(status, {
    "content-type": "application/x-amz-json-1.0",
    ...(query !== undefined && { "x-amzn-query-error": `${query};Sender` }),
  });
  response.end(body ?? JSON.stringify({ __type: `com.amazonaws.sqs#${type}`, message }));
});
let clients: SqsClients;
let queueUrl: string;

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  queueUrl = `${endpoint}/000000000000/orders`;
  clients = createClients({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "key", secretAccessKey: "secret" },
  });
});

after(() => {
  clients.poll.destroy();
  clients.control.destroy();
  server.close();
});

async function errorOf(call: Promise<unknown>): Promise<LeaseholdError> {
  try {
    await call;
  } catch (error) {
    return fromSqs(error, "deleting");
  }
  throw new Error("the call went well");
}

const remove = (): Promise<unknown> =>
  clients.control.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: "x" }));

for (const [row, wire, code, status] of ROWS) {
  test(`a failed call: ${row}`, async () => {
    answer = wire;
    requests = 0;
    const error = await errorOf(remove());
    assert.ok(error instanceof LeaseholdError);
    assert.equal(error.code, code, error.message);
    assert.notEqual(error.cause, undefined);
    assert.equal(outcomeOf(error).status, status);
    assert.equal(requests, 1, "the client has tried again");
  });
}

for (const [row, wire, code, status] of ROWS) {
  if (wire.type === undefined) continue;
  test(`a failed entry of a batch: ${row}`, () => {
    const Code = wire.query ?? wire.type ?? "";
    const error = fromSqs({ Id: "0", SenderFault: true, Code, Message: wire.message }, "deleting");
    // Of an entry there is no HTTP status to go by.
    const isNew = Code.startsWith("SomethingNew");
    assert.equal(error.code, isNew ? "Unknown" : code, error.message);
    assert.equal(outcomeOf(error).status, isNew ? "unconfirmed" : status);
  });
}

test("a receive that met a fault of the server is not repeated: its leases would pile up (SQS-27)", async () => {
  answer = { status: 500, type: "InternalFailure", query: "InternalFailure" };
  requests = 0;
  const error = await errorOf(clients.poll.send(new ReceiveMessageCommand({ QueueUrl: queueUrl })));
  assert.equal(error.code, "Unavailable");
  assert.equal(requests, 1);
});

test("a connection that was cut leaves open whether the call was applied", async () => {
  answer = "cut";
  const error = await errorOf(remove());
  assert.equal(error.code, "Unavailable");
  assert.equal(outcomeOf(error).status, "unconfirmed");
});

test("a server that is not there has applied nothing", async () => {
  const { poll, control } = createClients({
    endpoint: "http://127.0.0.1:1",
    region: "us-east-1",
    credentials: { accessKeyId: "key", secretAccessKey: "secret" },
  });
  const error = await errorOf(control.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle: "x" })));
  assert.equal(error.code, "Unavailable");
  assert.equal(isUnclear(error), false);
  assert.equal(outcomeOf(error).status, "failed");
  poll.destroy();
  control.destroy();
});

test("what is no error of SQS is understood as far as it can be", () => {
  const timeout = Object.assign(new Error("a request has exceeded 8000 ms"), { name: "TimeoutError" });
  const rows: readonly (readonly [unknown, ErrorCode, boolean])[] = [
    [timeout, "DeadlineExceeded", true],
    [Object.assign(new Error("connect ETIMEDOUT"), { code: "ETIMEDOUT" }), "DeadlineExceeded", true],
    [Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }), "Unavailable", false],
    [Object.assign(new Error("no credentials"), { name: "CredentialsProviderError" }), "PermissionDenied", false],
    [new Error("Region is missing"), "InvalidArgument", false],
    [new Error("whatever"), "Unknown", true],
    ["text", "Unknown", true],
    [undefined, "Unknown", true],
    [null, "Unknown", true],
  ];
  for (const [thrown, code, unclear] of rows) {
    const error = fromSqs(thrown, "deleting");
    assert.equal(error.code, code, String(thrown));
    assert.equal(isUnclear(error), unclear, String(thrown));
  }
});

test("a text is clipped: SQS repeats receipt handles, and they are long", () => {
  const error = fromSqs({ name: "InvalidParameterValue", message: `Value ${"x".repeat(5_000)}` }, "deleting");
  assert.ok(error.message.length < 400);
});
