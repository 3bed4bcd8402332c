import { type ErrorCode, errorText, isLeaseholdError, LeaseholdError } from "@leasehold/core/driver";

/** What was being done when an error came. */
export interface Doing {
  /** `write of task#42`. */
  readonly doing: string;
  readonly table: string;
}

/**
 * Errors by name, as two copies of the SDK have two classes for one error (DDB-12). A condition that failed is no error and
 * never comes here.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
 */
const CODES: ReadonlyMap<string, ErrorCode> = new Map([
  ...named("ResourceExhausted", [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "ThrottledException",
    "Throttling",
    "RequestLimitExceeded",
    "LimitExceededException",
    "TooManyRequestsException",
  ]),
  ...named("Unavailable", [
    "TransactionConflictException",
    "TransactionInProgressException",
    "ReplicatedWriteConflictException",
    "InternalServerError",
    "InternalServerErrorException",
    "InternalFailure",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "RequestTimeout",
    "RequestTimeoutException",
    "TimeoutError",
    "AbortError",
  ]),
  ...named("PermissionDenied", [
    "AccessDeniedException",
    "AccessDenied",
    "UnrecognizedClientException",
    "InvalidClientTokenId",
    "MissingAuthenticationTokenException",
    "MissingAuthenticationToken",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidSignatureException",
    "IncompleteSignatureException",
    "SignatureDoesNotMatch",
    "RequestTimeTooSkewed",
    "OptInRequired",
    "CredentialsProviderError",
  ]),
  ...named("NotFound", ["ResourceNotFoundException", "TableNotFoundException"]),
  ...named("Conflict", ["ResourceInUseException"]),
  ...named("PayloadTooLarge", ["RequestEntityTooLarge"]),
  ...named("InvalidArgument", ["ValidationException", "SerializationException"]),
  ...named("Unsupported", ["UnknownOperationException"]),
]);

/** Of Node, where no answer came: the request may have been applied. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/** https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html */
const MAX_ITEM_BYTES = 409_600;

/** The one door for errors of the SDK: a closed code, a text that says what to do, the cause kept. */
export function fromDynamo(error: unknown, { doing, table }: Doing): LeaseholdError {
  if (isLeaseholdError(error)) return error;
  const code = codeOf(error);
  return new LeaseholdError(code, `${doing} in table ${table} failed: ${textOf(error, code, table)}`, {
    cause: error,
    ...(code === "PayloadTooLarge" && { details: { limit: MAX_ITEM_BYTES } }),
  });
}

/** Does the error have this name, from whichever copy of the SDK? */
export function isNamed(error: unknown, name: string): boolean {
  return nameOf(error) === name;
}

function codeOf(error: unknown): ErrorCode {
  const known = CODES.get(nameOf(error));
  const text = errorText(error);
  if (known === "InvalidArgument") {
    if (/item size/i.test(text)) return "PayloadTooLarge";
    return /specified index/i.test(text) ? "NotFound" : known;
  }
  if (known !== undefined) return known;
  const { code, $retryable, $metadata } = Object(error) as {
    readonly code?: unknown;
    readonly $retryable?: { readonly throttling?: boolean };
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode ?? 0;
  if (status === 429 || $retryable?.throttling === true) return "ResourceExhausted";
  if (status === 413) return "PayloadTooLarge";
  // The call succeeded and its answer could not be read: as good as lost.
  if (status === 200) return "Unavailable";
  if (status >= 500 || $retryable !== undefined) return "Unavailable";
  if (NETWORK_CODES.has(errorText(code)) || /socket hang up|network socket/i.test(text)) return "Unavailable";
  return "Unknown";
}

function textOf(error: unknown, code: ErrorCode, table: string): string {
  const text = errorText(error) || nameOf(error);
  if (isNamed(error, "ValidationException") && code === "NotFound") {
    return `${text}; checkTable({ table: ${JSON.stringify(table)} }) says which indexes are missing`;
  }
  if (code === "NotFound") {
    return `there is no table ${table} in this account and region (${text}); createTable({ table: ${JSON.stringify(table)} }) makes it`;
  }
  if (code === "PayloadTooLarge")
    return `${text}; an item has at most ${MAX_ITEM_BYTES} bytes: keep the data elsewhere and store a reference`;
  return text;
}

/** Some servers name an error by `code` or `__type` alone, with a namespace before it. */
function nameOf(error: unknown): string {
  const { name, code, __type: type } = Object(error) as { name?: unknown; code?: unknown; __type?: unknown };
  const names = [name, code, type].filter((each) => typeof each === "string").map((each) => each.replace(/^.*#/, ""));
  return names.find((each) => CODES.has(each) || each === "ConditionalCheckFailedException") ?? names[0] ?? "";
}

function named(code: ErrorCode, names: readonly string[]): readonly (readonly [string, ErrorCode])[] {
  return names.map((name) => [name, code]);
}
