/** The statuses that this server answers with, by their numbers: https://grpc.io/docs/guides/status-codes/ */
export const STATUS = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;
export type StatusName = keyof typeof STATUS;

/** A call that is refused. */
export class PubsubError extends Error {
  readonly status: StatusName;
  /** Exactly-once: what became of single ack ids (PS-04). */
  readonly ackFailures: Readonly<Record<string, string>> | undefined;

  constructor(status: StatusName, message: string, ackFailures?: Readonly<Record<string, string>>) {
    super(message);
    this.name = "PubsubError";
    this.status = status;
    this.ackFailures = ackFailures;
  }
}

export function invalid(message: string): PubsubError {
  return new PubsubError("INVALID_ARGUMENT", message);
}

/** In the words of the service. */
export function notFound(resource: string): PubsubError {
  return new PubsubError("NOT_FOUND", `Resource not found (resource=${lastOf(resource)}).`);
}

export function alreadyExists(resource: string): PubsubError {
  return new PubsubError("ALREADY_EXISTS", `Resource already exists in the project (resource=${lastOf(resource)}).`);
}

function lastOf(resource: string): string {
  return resource.slice(resource.lastIndexOf("/") + 1);
}
