import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceBusError, type ServiceBusErrorCode } from "@azure/service-bus";
import { type ErrorCode, isLeaseholdError, LeaseholdError, type Outcome } from "@leasehold/core/driver";
import fc from "fast-check";
import { fromServicebus, isAlreadySettled, outcomeOf } from "./errors.ts";

/** What it means, and for an item of a batch. */
type Meaning = readonly [ErrorCode, Outcome["status"]];

/** Every code that the SDK declares (SB-20), but the one that says nothing. */
const CODES: Readonly<Record<Exclude<ServiceBusErrorCode, "GeneralError">, Meaning>> = {
  MessagingEntityNotFound: ["NotFound", "failed"],
  MessageLockLost: ["LeaseLost", "lost"],
  MessageNotFound: ["LeaseLost", "lost"],
  MessageSizeExceeded: ["PayloadTooLarge", "failed"],
  MessagingEntityAlreadyExists: ["Conflict", "failed"],
  MessagingEntityDisabled: ["Unavailable", "failed"],
  QuotaExceeded: ["ResourceExhausted", "failed"],
  ServiceBusy: ["ResourceExhausted", "failed"],
  ServiceTimeout: ["DeadlineExceeded", "unconfirmed"],
  ServiceCommunicationProblem: ["Unavailable", "unconfirmed"],
  SessionCannotBeLocked: ["LeaseHeld", "failed"],
  SessionLockLost: ["LeaseLost", "lost"],
  UnauthorizedAccess: ["PermissionDenied", "failed"],
};

/** Errors without a code of their own: the SDK's general one with a name before the text, and plain ones. */
const TEXTS: readonly (readonly [string, unknown, ErrorCode, Outcome["status"]])[] = [
  ["SB-21", new Error("The message has either been deleted or already settled"), "LeaseLost", "lost"],
  ["SB-21 closed", new Error("The underlying AMQP connection is closed."), "Unavailable", "unconfirmed"],
  [
    "SB-21 receiver",
    new Error('The receiver for "q" has been closed and can no longer be used. Please create a new receiver.'),
    "Unavailable",
    "unconfirmed",
  ],
  ["SB-05", general("DetachForcedError: The link is force detached."), "Unavailable", "unconfirmed"],
  ["SB-05 connection", general("ConnectionForcedError: The connection was inactive."), "Unavailable", "unconfirmed"],
  [
    "not allowed",
    general("InvalidOperationError: It is not possible for an entity that requires sessions"),
    "InvalidArgument",
    "failed",
  ],
  ["out of range", general("ArgumentOutOfRangeError: delay"), "InvalidArgument", "failed"],
  ["internal", general("InternalServerError: oops"), "Unavailable", "unconfirmed"],
  ["not implemented", general("NotImplementedError: no such operation"), "Unsupported", "failed"],
  ["busy sender", general("SenderBusyError: cannot send the message right now"), "Unavailable", "failed"],
  ["refused", general("ECONNREFUSED: connect ECONNREFUSED 127.0.0.1:5671"), "Unavailable", "failed"],
  ["refused by two", new AggregateError([systemError("ECONNREFUSED")], "all failed"), "Unavailable", "failed"],
  ["reset", systemError("ECONNRESET"), "Unavailable", "unconfirmed"],
  ["no host", systemError("ENOTFOUND"), "Unavailable", "failed"],
  [
    "no host, as the SDK says it",
    new ServiceBusError("getaddrinfo ENOTFOUND nowhere", "ServiceCommunicationProblem"),
    "Unavailable",
    "unconfirmed",
  ],
  [
    "no entity, under the code of a missing node",
    new ServiceBusError(
      "The messaging entity 'sb://x/q' could not be found. TrackingId:1",
      "ServiceCommunicationProblem",
    ),
    "NotFound",
    "failed",
  ],
  [
    "aborted",
    Object.assign(new Error("The operation was aborted."), { name: "AbortError" }),
    "Unavailable",
    "unconfirmed",
  ],
  [
    "a call in time",
    Object.assign(new Error("The request timed out"), { name: "OperationTimeoutError" }),
    "DeadlineExceeded",
    "unconfirmed",
  ],
  [
    "a thrown object",
    { name: "OperationTimeoutError", message: "Please try again later." },
    "DeadlineExceeded",
    "unconfirmed",
  ],
  ["a type", new TypeError("The property 'sessionId' must be of type 'string'"), "InvalidArgument", "failed"],
  [
    "credentials",
    Object.assign(new Error("no identity"), { name: "CredentialUnavailableError" }),
    "PermissionDenied",
    "failed",
  ],
  [
    "administration",
    Object.assign(new Error("no"), { name: "RestError", statusCode: 403 }),
    "PermissionDenied",
    "failed",
  ],
  [
    "administration away",
    Object.assign(new Error("no"), { name: "RestError", statusCode: 503 }),
    "Unavailable",
    "unconfirmed",
  ],
  ["nothing known", new Error("so be it"), "Unknown", "unconfirmed"],
  ["no error at all", undefined, "Unknown", "unconfirmed"],
];

function general(text: string): ServiceBusError {
  return new ServiceBusError(text, "GeneralError");
}

function systemError(code: string): Error {
  return Object.assign(new Error(`connect ${code} 127.0.0.1:5671`), { code, errno: -111, syscall: "connect" });
}

for (const [code, [meaning, status]] of Object.entries(CODES)) {
  test(`${code} is ${meaning}, and an item ${status} (SB-20, SB-22)`, () => {
    const thrown = new ServiceBusError("a text", code as ServiceBusErrorCode);
    const error = fromServicebus(thrown, "completing");
    assert.equal(error.code, meaning);
    assert.equal(error.cause, thrown);
    assert.equal(error.message, `completing: ${code}: a text`);
    assert.equal(outcomeOf(error).status, status);
  });
}

for (const [name, thrown, meaning, status] of TEXTS) {
  test(`${name}: ${meaning}, and an item ${status}`, () => {
    const error = fromServicebus(thrown, "completing");
    assert.equal(error.code, meaning, error.message);
    assert.equal(outcomeOf(error).status, status);
  });
}

test("a throttled caller is told how long to wait (SB-23)", () => {
  assert.equal(fromServicebus(new ServiceBusError("busy", "ServiceBusy"), "sending").details["retryAfterMs"], 10_000);
  assert.equal(
    fromServicebus(new ServiceBusError("lost", "MessageLockLost"), "sending").details["retryAfterMs"],
    undefined,
  );
});

test("a second settle is told from a lock that is lost (SB-21, SB-24)", () => {
  const settled = new Error("The message has either been deleted or already settled");
  assert.equal(isAlreadySettled(fromServicebus(settled, "completing")), true);
  assert.equal(isAlreadySettled(fromServicebus(new ServiceBusError("gone", "MessageLockLost"), "completing")), false);
});

test("an error of leasehold stays what it is", () => {
  const error = new LeaseholdError("Unavailable", "closed");
  assert.equal(fromServicebus(error, "sending"), error);
});

test("whatever the client throws is one error of leasehold, and an outcome", () => {
  const anything = fc.anything({ withNullPrototype: true, withDate: true, withBigInt: true });
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom("MessageLockLost", "GeneralError", "ECONNRESET", "SystemError: x"),
  );
  const member = fc.oneof(text, anything);
  const known = fc.record(
    {
      name: member,
      message: member,
      code: member,
      statusCode: fc.oneof(fc.nat(600), anything),
      errors: fc.array(anything),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(known, anything), (thrown) => {
      const error = fromServicebus(thrown, "completing");
      assert.ok(isLeaseholdError(error));
      assert.ok(error.message.startsWith("completing"));
      assert.ok(["lost", "unconfirmed", "failed"].includes(outcomeOf(error).status));
    }),
    { numRuns: 500, seed: 1 },
  );
});
