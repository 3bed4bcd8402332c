import assert from "node:assert/strict";
import { test } from "node:test";
import { type ErrorCode, LeaseholdError } from "@leasehold/core/driver";
import { fromDynamo } from "./errors.ts";

const WHERE = { doing: "write of task#1", table: "tasks" };

function sdkError(name: string, message = "as the service says it", more: object = {}): Error {
  return Object.assign(new Error(message), { name, ...more });
}

const CASES: readonly (readonly [Error, ErrorCode])[] = [
  [sdkError("ProvisionedThroughputExceededException"), "ResourceExhausted"],
  [sdkError("ThrottlingException"), "ResourceExhausted"],
  [sdkError("RequestLimitExceeded"), "ResourceExhausted"],
  [sdkError("LimitExceededException"), "ResourceExhausted"],
  [sdkError("SlowDown", "slow", { $retryable: { throttling: true } }), "ResourceExhausted"],
  [sdkError("Unheard", "of", { $metadata: { httpStatusCode: 429 } }), "ResourceExhausted"],
  [sdkError("TransactionConflictException"), "Unavailable"],
  [sdkError("ReplicatedWriteConflictException"), "Unavailable"],
  [sdkError("InternalServerError"), "Unavailable"],
  [sdkError("ServiceUnavailable"), "Unavailable"],
  [sdkError("Unheard", "of", { $metadata: { httpStatusCode: 502 } }), "Unavailable"],
  [sdkError("SyntaxError", "cut off", { $metadata: { httpStatusCode: 200 } }), "Unavailable"],
  [sdkError("TimeoutError"), "Unavailable"],
  [sdkError("Error", "connect ECONNREFUSED 127.0.0.1:1", { code: "ECONNREFUSED" }), "Unavailable"],
  [sdkError("AggregateError", "", { code: "ECONNREFUSED" }), "Unavailable"],
  [sdkError("Error", "socket hang up"), "Unavailable"],
  [sdkError("Error", "getaddrinfo EAI_AGAIN", { code: "EAI_AGAIN" }), "Unavailable"],
  [sdkError("AccessDeniedException"), "PermissionDenied"],
  [sdkError("UnrecognizedClientException"), "PermissionDenied"],
  [sdkError("ExpiredTokenException"), "PermissionDenied"],
  [sdkError("InvalidSignatureException"), "PermissionDenied"],
  [sdkError("CredentialsProviderError"), "PermissionDenied"],
  [sdkError("ValidationException", "Item size has exceeded the maximum allowed size"), "PayloadTooLarge"],
  [sdkError("ValidationException", "Item size to update has exceeded the maximum allowed size"), "PayloadTooLarge"],
  [sdkError("ValidationException", "One or more parameter values were invalid"), "InvalidArgument"],
  [sdkError("UnknownOperationException"), "Unsupported"],
  [sdkError("toString"), "Unknown"],
  [new TypeError("a fault of this program"), "Unknown"],
];

for (const [error, code] of CASES) {
  test(`${error.name}: ${error.message} is ${code}`, () => {
    const failure = fromDynamo(error, WHERE);
    assert.equal(failure.code, code);
    assert.equal(failure.cause, error);
    assert.match(failure.message, /^write of task#1 in table tasks failed: /);
  });
}

test("a name in another place, or with a namespace before it, is recognised", () => {
  for (const error of [
    sdkError("Error", "of a server", { code: "ThrottlingException" }),
    sdkError("Error", "of a server", { __type: "com.amazonaws.dynamodb.v20120810#ThrottlingException" }),
  ]) {
    assert.equal(fromDynamo(error, WHERE).code, "ResourceExhausted");
  }
});

test("a missing table is named, with what makes it", () => {
  const failure = fromDynamo(sdkError("ResourceNotFoundException"), WHERE);
  assert.equal(failure.code, "NotFound");
  assert.match(failure.message, /no table tasks .* createTable\(\{ table: "tasks" \}\)/);
});

test("a missing index is told apart from a bad request", () => {
  const error = sdkError("ValidationException", "The table does not have the specified index: by_run");
  const failure = fromDynamo(error, WHERE);
  assert.equal(failure.code, "NotFound");
  assert.match(failure.message, /by_run; checkTable/);
});

test("what was thrown need be no error", () => {
  assert.equal(fromDynamo(undefined, WHERE).code, "Unknown");
  assert.equal(fromDynamo("text", WHERE).code, "Unknown");
});

test("an error of leasehold passes", () => {
  const error = new LeaseholdError("InvalidArgument", "already told");
  assert.equal(fromDynamo(error, WHERE), error);
});
