import { type ErrorCode, errorText, LeaseholdError, type Outcome } from "@leasehold/core/driver";

/**
 * What is known of a failure. A call that fails throws an error of the client; an entry of a batch that fails is a
 * `BatchResultErrorEntry` with `Code` and `Message`. No class is asked for: the errors that matter most have none (SQS-28).
 */
interface Facts {
  readonly name?: unknown;
  readonly message?: unknown;
  /** The code of the query protocol, where the server sends it. */
  readonly Code?: unknown;
  /** Of an entry of a batch. */
  readonly Message?: unknown;
  /** Of Node. */
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: unknown };
}

/** Codes of SQS, without prefix and without `Exception`, by what they mean here. */
const CODES: Readonly<Partial<Record<ErrorCode, readonly string[]>>> = {
  LeaseLost: ["MessageNotInflight"],
  NotFound: ["QueueDoesNotExist", "NonExistentQueue"],
  PayloadTooLarge: ["BatchRequestTooLong"],
  // OverLimit: too many messages are in flight (SQS-70).
  ResourceExhausted: [
    "RequestThrottled",
    "Throttling",
    "TooManyRequests",
    "RequestLimitExceeded",
    "OverLimit",
    "KmsThrottled",
  ],
  PermissionDenied: [
    "AccessDenied",
    "InvalidClientTokenId",
    "UnrecognizedClient",
    "SignatureDoesNotMatch",
    "InvalidSignature",
    "IncompleteSignature",
    "MissingAuthenticationToken",
    "ExpiredToken",
    "InvalidSecurity",
    "NotAuthorized",
    "OptInRequired",
    "KmsAccessDenied",
    "KmsDisabled",
    "KmsInvalidKeyUsage",
    "KmsInvalidState",
    "KmsNotFound",
    "KmsOptInRequired",
    // The client found no credentials: nothing was sent.
    "CredentialsProviderError",
    "TokenProviderError",
  ],
  InvalidArgument: [
    "ReceiptHandleIsInvalid",
    "InvalidParameterValue",
    "InvalidParameterCombination",
    "MissingParameter",
    "InvalidMessageContents",
    "InvalidAddress",
    "InvalidAttributeName",
    "InvalidAttributeValue",
    "InvalidBatchEntryId",
    "InvalidIdFormat",
    "EmptyBatchRequest",
    "TooManyEntriesInBatchRequest",
    "BatchEntryIdsNotDistinct",
    "Validation",
    "Serialization",
  ],
  Unsupported: ["UnsupportedOperation", "InvalidAction", "UnknownOperation"],
  Unavailable: [
    "InternalFailure",
    "InternalError",
    "InternalServerError",
    "ServiceUnavailable",
    "RequestTimeTooSkewed",
  ],
  DeadlineExceeded: ["TimeoutError", "RequestTimeout"],
};

const CODE_OF: ReadonlyMap<string, ErrorCode> = new Map(
  Object.entries(CODES).flatMap(([code, names]) => names.map((name) => [name, code as ErrorCode] as const)),
);

/** What only the text tells, and only of codes that say too little: first match wins. */
const TEXTS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/receipt handle has expired|does not exist or is not available/i, "LeaseLost"],
  [/must be shorter than|longer than the maximum|exceeds? the maximum (?:message )?size/i, "PayloadTooLarge"],
  // The client has set its clock by this answer: the next call is signed with the right time.
  [/signature expired|signature not yet current/i, "Unavailable"],
  [/region is missing/i, "InvalidArgument"],
];
const VAGUE: ReadonlySet<ErrorCode | undefined> = new Set([undefined, "InvalidArgument", "PermissionDenied"]);

/** Codes of Node after which it is certain that no request left this machine. */
const NOT_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
]);
/** Codes of Node after which nobody knows. The client calls some of them a `TimeoutError`. */
const CUT: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "ERR_STREAM_PREMATURE_CLOSE"]);

const MAX_TEXT = 300;

/**
 * The one door for errors of SQS, of its client and of the network below, and for failed entries of batches: always a
 * `LeaseholdError`, with the original as its cause. It goes by name, code and text, so that servers which leave out the
 * header with the query code are understood as well (SQS-21).
 */
export function fromSqs(error: unknown, doing: string): LeaseholdError {
  const facts = factsOf(error);
  const names = [facts.name, facts.Code].filter((name) => typeof name === "string").map(plainName);
  const text = textIn(facts);
  const known = names.map((name) => CODE_OF.get(name)).find((code) => code !== undefined);
  const told = VAGUE.has(known) ? TEXTS.find(([pattern]) => pattern.test(text))?.[1] : undefined;
  const code = codeOfNetwork(facts.code) ?? told ?? known ?? codeOfStatus(facts.$metadata?.httpStatusCode) ?? "Unknown";
  const shown = names.find((name) => name !== "Error") ?? (typeof facts.code === "string" ? facts.code : "error");
  return new LeaseholdError(code, `${doing}: ${shown}: ${text.slice(0, MAX_TEXT) || "no message"}`, {
    cause: error,
    details: { sqsCode: shown, sent: typeof facts.code !== "string" || !NOT_SENT.has(facts.code) },
  });
}

/** What a failed call, or a failed entry of a batch, means for an item. */
export function outcomeOf(error: LeaseholdError): Exclude<Outcome, { readonly status: "confirmed" }> {
  if (error.code === "LeaseLost") return { status: "lost" };
  if (isUnclear(error)) return { status: "unconfirmed", error };
  return { status: "failed", code: error.code, error };
}

/** Nobody knows whether the call was applied. */
export function isUnclear({ code, details }: LeaseholdError): boolean {
  return (code === "Unavailable" || code === "DeadlineExceeded" || code === "Unknown") && details["sent"] !== false;
}

function factsOf(error: unknown): Facts {
  return typeof error === "object" && error !== null ? error : { message: error };
}

function textIn({ Message, message }: Facts): string {
  const said = Message ?? message ?? "";
  return said === "" ? "" : errorText(said);
}

/** `AWS.SimpleQueueService.NonExistentQueue`, `com.amazonaws.sqs#OverLimit`, `InvalidParameterValueException`: the bare name. */
function plainName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("."), name.lastIndexOf("#")) + 1).replace(/Exception$/, "");
}

function codeOfNetwork(code: unknown): ErrorCode | undefined {
  if (typeof code !== "string") return undefined;
  if (NOT_SENT.has(code) || CUT.has(code)) return "Unavailable";
  return code === "ETIMEDOUT" || code === "ESOCKETTIMEDOUT" ? "DeadlineExceeded" : undefined;
}

function codeOfStatus(status: unknown): ErrorCode | undefined {
  if (typeof status !== "number") return undefined;
  if (status >= 500) return "Unavailable";
  if (status === 429) return "ResourceExhausted";
  if (status === 401 || status === 403) return "PermissionDenied";
  return status >= 400 ? "InvalidArgument" : undefined;
}
