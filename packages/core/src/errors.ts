import { errorText } from "./util/error-text.ts";

/** The closed list of error codes. */
export const ERROR_CODES = [
  "LeaseLost",
  "LeaseHeld",
  "AlreadySettled",
  "NotFound",
  "Conflict",
  "InvalidArgument",
  "PayloadTooLarge",
  "PermissionDenied",
  "ResourceExhausted",
  "Unavailable",
  "DeadlineExceeded",
  "Unsupported",
  "Hung",
  "Unknown",
] as const;

/** Why a call failed. */
export type ErrorCode = (typeof ERROR_CODES)[number];

const MARK = Symbol.for("leasehold.error");
const VERDICT = Symbol.for("leasehold.verdict");

/** The one error class of leasehold. Recognise it with {@link isLeaseholdError}: two copies of the package agree on it. */
export class LeaseholdError extends Error {
  readonly code: ErrorCode;
  /** Facts that belong to the error: limits, sizes, names. Never a payload, never a secret. */
  readonly details: Readonly<Record<string, string | number | boolean>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly details?: Record<string, string | number | boolean> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "LeaseholdError";
    this.code = code;
    this.details = options.details ?? {};
    Object.defineProperty(this, MARK, { value: true });
  }
}

/** Is this an error of leasehold, from whichever copy of the package? With a code: is it that one? */
export function isLeaseholdError(error: unknown, code?: ErrorCode): error is LeaseholdError {
  if (typeof error !== "object" || error === null || !(MARK in error)) return false;
  return code === undefined || (error as unknown as LeaseholdError).code === code;
}

/** Codes after which the same call may succeed when it is made again. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set(["Unavailable", "ResourceExhausted", "DeadlineExceeded"]);

/** May the same call succeed when it is made again? The call may also have been applied: only its answer was lost. */
export function isTransient(error: unknown): boolean {
  return isLeaseholdError(error) && TRANSIENT.has(error.code);
}

/** The door for errors of unknown origin: keeps a {@link LeaseholdError}, wraps everything else as `Unknown`. */
export function fromUnknown(error: unknown, doing: string): LeaseholdError {
  if (isLeaseholdError(error)) return error;
  return new LeaseholdError("Unknown", `${doing} failed: ${errorText(error)}`, { cause: error });
}

/** What a handler says by throwing. */
export type Verdict = "retryable" | "permanent" | "park" | "not_committed";

abstract class VerdictError extends Error {
  constructor(verdict: Verdict, name: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = name;
    Object.defineProperty(this, VERDICT, { value: verdict });
  }
}

/** Thrown by a handler: give the task back and try again, after `retryAfterMs` when given (else the task's back-off). */
export class RetryableError extends VerdictError {
  /** Milliseconds to wait before the next attempt; `undefined`: the back-off of the task. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number } = {}) {
    super("retryable", "RetryableError", message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Thrown by a handler: no further attempt can help; the task is dead-lettered with this message as the reason. */
export class PermanentError extends VerdictError {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super("permanent", "PermanentError", message, options);
  }
}

/** Thrown by a handler: a person must decide; the task is parked with this message as the reason. */
export class ParkError extends VerdictError {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super("park", "ParkError", message, options);
  }
}

/** Thrown by an effect's `commit`: nothing was sent, so the effect may begin again under any guard. */
export class NotCommittedError extends VerdictError {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super("not_committed", "NotCommittedError", message, options);
  }
}

/** What a thrown value says; `undefined` for anything that is no verdict. Two copies of the package agree on it. */
export function verdictOf(error: unknown): Verdict | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  return (error as { [VERDICT]?: Verdict })[VERDICT];
}
