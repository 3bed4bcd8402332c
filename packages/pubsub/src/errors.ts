import { type ErrorCode, isLeaseholdError, LeaseholdError, type Outcome } from "@leasehold/core/driver";

/** What is known of a failure. No class is asked for: some failures are plain errors, some are text. */
interface Facts {
  readonly message?: unknown;
  /** A gRPC status, as a number; of Node, text. */
  readonly code?: unknown;
  /** The map of an ErrorInfo, where the answer has one. */
  readonly errorInfoMetadata?: unknown;
  /** All details of the answer, decoded. */
  readonly statusDetails?: unknown;
}

/** The statuses of gRPC in the order of their numbers, and what each means here. */
const STATUSES: readonly (readonly [string, ErrorCode])[] = [
  ["OK", "Unknown"],
  // The call was cancelled by its signal, or with its connection.
  ["CANCELLED", "Unavailable"],
  ["UNKNOWN", "Unknown"],
  ["INVALID_ARGUMENT", "InvalidArgument"],
  ["DEADLINE_EXCEEDED", "DeadlineExceeded"],
  ["NOT_FOUND", "NotFound"],
  ["ALREADY_EXISTS", "Conflict"],
  ["PERMISSION_DENIED", "PermissionDenied"],
  ["RESOURCE_EXHAUSTED", "ResourceExhausted"],
  // A subscription that is detached, a key that is disabled.
  ["FAILED_PRECONDITION", "Conflict"],
  ["ABORTED", "Unavailable"],
  ["OUT_OF_RANGE", "InvalidArgument"],
  ["UNIMPLEMENTED", "Unsupported"],
  ["INTERNAL", "Unavailable"],
  ["UNAVAILABLE", "Unavailable"],
  ["DATA_LOSS", "Unknown"],
  ["UNAUTHENTICATED", "PermissionDenied"],
];

/** What only the text tells: first match wins. */
const TEXTS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/request_size is too large|message (?:size )?(?:is )?too large/i, "PayloadTooLarge"],
  [/client has already been closed/i, "Unavailable"],
  [/could not refresh access token|invalid_grant/i, "PermissionDenied"],
];

/** After these it is certain that no request left this machine. */
const NOT_SENT: readonly RegExp[] = [
  /no connection established/i,
  /name resolution failed/i,
  /metadata from plugin failed/i,
  /client has already been closed/i,
  // The deadline passed before there was a connection: the text of one that was used names its address.
  /deadline exceeded after (?!.*remote_addr=)/i,
];

const MAX_TEXT = 300;

/**
 * The one door for errors of Pub/Sub, of its client and of the network below: always a `LeaseholdError`, with the original as its
 * cause. `permission` is what the call needs; it is named when the caller lacks it, which the service itself often omits.
 */
export function fromPubsub(error: unknown, doing: string, permission?: string): LeaseholdError {
  if (isLeaseholdError(error)) return error;
  const facts = factsOf(error);
  const text = typeof facts.message === "string" ? facts.message : "";
  const [status, known] = (typeof facts.code === "number" ? STATUSES[facts.code] : undefined) ?? ["error", undefined];
  const told = TEXTS.find(([pattern]) => pattern.test(text))?.[1];
  const code = told ?? known ?? "Unknown";
  const needed =
    status === "PERMISSION_DENIED" ? (textIn(facts.errorInfoMetadata, "permission") ?? permission) : undefined;
  const advice = needed === undefined ? "" : `; the caller needs ${needed}`;
  return new LeaseholdError(code, `${doing}: ${plainText(text, status)}${advice}`, {
    cause: error,
    details: {
      pubsubCode: status,
      sent: !NOT_SENT.some((pattern) => pattern.test(text)),
      ...(needed !== undefined && { permission: needed }),
    },
  });
}

/** What a failed call means for an item. */
export function outcomeOf(error: LeaseholdError): Exclude<Outcome, { readonly status: "confirmed" | "lost" }> {
  return isUnclear(error) ? { status: "unconfirmed", error } : failed(error);
}

/** Nobody knows whether the call was applied. */
export function isUnclear({ code, details }: LeaseholdError): boolean {
  return (code === "Unavailable" || code === "DeadlineExceeded" || code === "Unknown") && details["sent"] !== false;
}

const VERDICT = /^(?:PERMANENT|TRANSIENT)_FAILURE_/;
const INVALID_ACK_ID = "PERMANENT_FAILURE_INVALID_ACK_ID";

/**
 * What an error of a subscription with exactly-once delivery says of each ack id (PS-04): the maps of all its ErrorInfos. Empty for
 * every other error.
 */
export function verdictsOf(error: unknown): ReadonlyMap<string, string> {
  const { errorInfoMetadata, statusDetails } = factsOf(error);
  const details: readonly unknown[] = Array.isArray(statusDetails) ? statusDetails : [];
  const maps = [errorInfoMetadata, ...details.map((detail) => (isObject(detail) ? detail["metadata"] : undefined))];
  const entries = maps.filter(isObject).flatMap((map) => Object.entries(map));
  return new Map(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === "string" && VERDICT.test(entry[1])),
  );
}

/**
 * The outcome of one ack id. Without a verdict of its own, beside others that have one, it was probably applied; the service does
 * not say so (emulators.md 2.3), and neither do we.
 */
export function outcomeOfVerdict(verdict: string | undefined, callError: LeaseholdError): Outcome {
  if (verdict === INVALID_ACK_ID) return { status: "lost" };
  if (verdict === undefined) return { status: "unconfirmed", error: callError };
  const code = verdict.startsWith("TRANSIENT") ? "Unavailable" : "Unknown";
  const { cause, message } = callError;
  return failed(new LeaseholdError(code, `${message}: ${verdict}`, { cause, details: { pubsubCode: verdict } }));
}

export function failed(error: LeaseholdError): Extract<Outcome, { readonly status: "failed" }> {
  return { status: "failed", code: error.code, error };
}

function factsOf(error: unknown): Facts {
  return isObject(error) ? error : { message: String(error ?? "") };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function textIn(map: unknown, name: string): string | undefined {
  const value = isObject(map) ? map[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

/** `5 NOT_FOUND: text` becomes `NOT_FOUND: text`. */
function plainText(text: string, status: string): string {
  const bare = text.replace(/^\d+ \w+: ?/, "").slice(0, MAX_TEXT);
  return `${status}: ${bare || "no message"}`;
}
