import { type ErrorCode, errorText, isLeaseholdError, LeaseholdError, type Outcome } from "@leasehold/core/driver";

/** What is known of a failure: no class is asked for, since several of them have none (SB-21). */
interface Facts {
  readonly name?: unknown;
  readonly message?: unknown;
  /** One of the SDK's codes (SB-20), of a client below it, of Node, or of the administration's HTTP. */
  readonly code?: unknown;
  readonly statusCode?: unknown;
  /** Of an `AggregateError`: the tries of one call, or the addresses of one host. */
  readonly errors?: unknown;
}

/** How a call can end that the broker, or the SDK, answered with a code. */
const CODES: Readonly<Partial<Record<ErrorCode, readonly string[]>>> = {
  LeaseLost: ["MessageLockLost", "SessionLockLost", "MessageNotFound"],
  LeaseHeld: ["SessionCannotBeLocked"],
  NotFound: ["MessagingEntityNotFound", "MessageEntityNotFoundError"],
  PayloadTooLarge: ["MessageSizeExceeded", "MessageTooLargeError"],
  Conflict: ["MessagingEntityAlreadyExists"],
  PermissionDenied: [
    "UnauthorizedAccess",
    "UnauthorizedRequestError",
    "PublisherRevokedError",
    // Of the credentials: nothing was sent.
    "CredentialUnavailableError",
    "AuthenticationError",
    "AuthenticationRequiredError",
    "AggregateAuthenticationError",
  ],
  ResourceExhausted: ["ServiceBusy", "QuotaExceeded", "QuotaExceededError", "ServerBusyError"],
  InvalidArgument: [
    "ArgumentError",
    "ArgumentOutOfRangeError",
    "InvalidFieldError",
    "DecodeError",
    "InvalidOperationError",
    "PreconditionFailedError",
    "TypeError",
    "RangeError",
  ],
  Unsupported: ["NotImplementedError"],
  DeadlineExceeded: ["ServiceTimeout", "OperationTimeoutError", "ServiceUnavailableError"],
  Unavailable: [
    "ServiceCommunicationProblem",
    "MessagingEntityDisabled",
    "AbortError",
    "ConnectionForcedError",
    "ConnectionLostError",
    "ConnectionRedirectError",
    "DetachForcedError",
    "DetachedError",
    "ErrantLinkError",
    "FramingError",
    "HandleInUseError",
    "IllegalStateError",
    "InsufficientCreditError",
    "InternalServerError",
    "LinkRedirectError",
    "OperationCancelledError",
    "PartitionNotOwnedError",
    "ReceiverDisconnectedError",
    "ResourceDeletedError",
    "ResourceLockedError",
    "SenderBusyError",
    "SenderNotReadyError",
    "SendOperationFailedError",
    "SessionWindowViolationError",
    "StoreLockLostError",
    "SystemError",
    "TransferLimitExceededError",
    "UnattachedHandleError",
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EPIPE",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "EADDRNOTAVAIL",
    "ETIMEDOUT",
  ],
};

const CODE_OF: ReadonlyMap<string, ErrorCode> = new Map(
  Object.entries(CODES).flatMap(([code, names]) => names.map((name) => [name, code as ErrorCode] as const)),
);

/** Says nothing: the SDK puts the real name before the text. */
const GENERAL = "GeneralError";
const PREFIX = /^([A-Z][A-Za-z]*Error|E[A-Z_]{3,}): /;

/** Errors without a code, told by their text (SB-21): first match wins. */
const TEXTS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/messaging entity .* could not be found|status-code: 404/i, "NotFound"],
  [/deleted or already settled/i, "LeaseLost"],
  [
    /unauthori[sz]ed|put-token|\b40[13]\b.*(?:token|claim)|signature|InvalidSignature|ExpiredToken/i,
    "PermissionDenied",
  ],
  [
    /connection is closed|has been closed|is closed|disconnected|cannot request messages|connection .*(?:lost|reset)/i,
    "Unavailable",
  ],
  [/link closed|socket hang up|not been created or is not open|connection is reopening/i, "Unavailable"],
  [/timed out|time-?out/i, "DeadlineExceeded"],
  [/cannot be greater than|must be of type|invalid uuid|is not a valid/i, "InvalidArgument"],
];

/** After these it is certain that the broker applied nothing: refused, or never asked. */
const NOT_APPLIED: ReadonlySet<string> = new Set([
  "MessagingEntityDisabled",
  "SenderBusyError",
  "SenderNotReadyError",
  "InsufficientCreditError",
  "PartitionNotOwnedError",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "EADDRNOTAVAIL",
]);

/** What a throttled caller is asked to wait, ms (SB-23). */
const BUSY_WAIT_MS = 10_000;
const MAX_TEXT = 300;
/** Of errors that hold others. */
const MAX_DEPTH = 4;

/**
 * The one door for errors of Service Bus, of its client and of the network below: always a `LeaseholdError`, with the
 * original as its cause. It goes by the SDK's code (SB-20), then by the name that it puts before the text of a
 * `GeneralError`, then by the texts of errors that have no code at all (SB-21).
 */
export function fromServicebus(error: unknown, doing: string): LeaseholdError {
  if (isLeaseholdError(error)) return error;
  const facts = firstOf(error);
  const text = textIn(facts);
  const names = [facts.code, PREFIX.exec(text)?.[1], facts.name].filter(
    (name): name is string => typeof name === "string" && name !== GENERAL && name !== "Error",
  );
  const known = names.find((name) => CODE_OF.has(name));
  // A missing host has the code of a missing node (amqp:not-found); only the text tells a missing entity.
  const told = TEXTS.find(([pattern]) => pattern.test(text))?.[1];
  const code =
    (told === "NotFound" ? told : undefined) ??
    (known === undefined ? undefined : CODE_OF.get(known)) ??
    told ??
    codeOfStatus(facts.statusCode) ??
    "Unknown";
  const shown = known ?? names[0] ?? "error";
  return new LeaseholdError(code, `${doing}: ${shown}: ${text.slice(0, MAX_TEXT) || "no message"}`, {
    cause: error,
    details: {
      servicebusCode: shown,
      sent: !NOT_APPLIED.has(shown) && !/connect(?:ion)? .*refused|ECONNREFUSED/.test(text),
      ...(code === "ResourceExhausted" && { retryAfterMs: BUSY_WAIT_MS }),
    },
  });
}

/** What a failed call means for the item that it was about. */
export function outcomeOf(error: LeaseholdError): Exclude<Outcome, { readonly status: "confirmed" }> {
  if (error.code === "LeaseLost") return { status: "lost" };
  if (isUnclear(error)) return { status: "unconfirmed", error };
  return { status: "failed", code: error.code, error };
}

/** Nobody knows whether the call was applied (SB-22). */
export function isUnclear({ code, details }: LeaseholdError): boolean {
  return (code === "Unavailable" || code === "DeadlineExceeded" || code === "Unknown") && details["sent"] !== false;
}

/** The client refuses to settle what it holds for settled, whatever became of that (SB-21). */
export function isAlreadySettled(error: LeaseholdError): boolean {
  return error.code === "LeaseLost" && /already settled/i.test(error.message);
}

function firstOf(error: unknown, depth = 0): Facts {
  if (typeof error !== "object" || error === null) return { message: error };
  const { errors }: Facts = error;
  return Array.isArray(errors) && errors.length > 0 && depth < MAX_DEPTH ? firstOf(errors[0], depth + 1) : error;
}

function textIn({ message = "" }: Facts): string {
  return message === "" || message === null ? "" : errorText(message);
}

function codeOfStatus(status: unknown): ErrorCode | undefined {
  if (typeof status !== "number") return undefined;
  if (status >= 500) return "Unavailable";
  if (status === 429) return "ResourceExhausted";
  if (status === 401 || status === 403) return "PermissionDenied";
  if (status === 404) return "NotFound";
  return status >= 400 ? "InvalidArgument" : undefined;
}
