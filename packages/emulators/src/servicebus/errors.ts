/** An error as the service says it: an AMQP condition, and a status where the answer is one of a request. */
export class ServicebusError extends Error {
  readonly condition: string;
  readonly status: number;

  constructor(condition: string, description: string, status = statusOf(condition)) {
    super(description);
    this.name = "ServicebusError";
    this.condition = condition;
    this.status = status;
  }
}

const STATUSES: Readonly<Record<string, number>> = {
  "amqp:internal-error": 500,
  "amqp:not-found": 404,
  "amqp:not-implemented": 501,
  "amqp:unauthorized-access": 401,
  "amqp:resource-limit-exceeded": 403,
  "amqp:link:message-size-exceeded": 403,
  "com.microsoft:message-lock-lost": 410,
  "com.microsoft:message-not-found": 404,
  "com.microsoft:server-busy": 503,
  "com.microsoft:session-cannot-be-locked": 410,
  "com.microsoft:session-lock-lost": 410,
  "com.microsoft:timeout": 408,
};

function statusOf(condition: string): number {
  return STATUSES[condition] ?? 400;
}

export function messageLockLost(): ServicebusError {
  return new ServicebusError(
    "com.microsoft:message-lock-lost",
    "The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue.",
  );
}

export function sessionLockLost(): ServicebusError {
  return new ServicebusError(
    "com.microsoft:session-lock-lost",
    "The session lock was lost, or never held. Accept the session anew.",
  );
}

export function messageNotFound(sequenceNumber: number): ServicebusError {
  return new ServicebusError(
    "com.microsoft:message-not-found",
    `There is no message with the sequence number ${sequenceNumber} that this can be done to.`,
  );
}

/** The SDK tells this one by its words. */
export function entityNotFound(address: string): ServicebusError {
  return new ServicebusError("amqp:not-found", `The messaging entity '${address}' could not be found.`);
}

export function notAllowed(description: string): ServicebusError {
  return new ServicebusError("amqp:not-allowed", description);
}

export function invalidField(description: string): ServicebusError {
  return new ServicebusError("amqp:invalid-field", description);
}
