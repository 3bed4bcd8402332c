/** An error as the service answers it. `code` is the name of its shape; what travels beside it is found in the table. */
export class SqsError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "SqsError";
    this.code = code;
  }
}

/** How an error looks on the wire. */
export interface WireError {
  /** `__type` of the JSON answer. */
  readonly type: string;
  /** The code of the older query protocol, which SDKs prefer where the header `x-amzn-query-error` brings it. */
  readonly queryCode: string;
  readonly status: number;
  /** Whether the caller is to blame. */
  readonly senderFault: boolean;
}

const PREFIX = "AWS.SimpleQueueService.";

/** Errors of the service's model whose query code or status is not simply their name and 400. From the schema of @aws-sdk/client-sqs. */
const WIRE: Readonly<
  Record<string, { readonly queryCode?: string; readonly status?: number; readonly type?: string }>
> = {
  BatchEntryIdsNotDistinct: { queryCode: `${PREFIX}BatchEntryIdsNotDistinct` },
  BatchRequestTooLong: { queryCode: `${PREFIX}BatchRequestTooLong` },
  EmptyBatchRequest: { queryCode: `${PREFIX}EmptyBatchRequest` },
  InvalidBatchEntryId: { queryCode: `${PREFIX}InvalidBatchEntryId` },
  TooManyEntriesInBatchRequest: { queryCode: `${PREFIX}TooManyEntriesInBatchRequest` },
  MessageNotInflight: { queryCode: `${PREFIX}MessageNotInflight` },
  PurgeQueueInProgress: { queryCode: `${PREFIX}PurgeQueueInProgress`, status: 403 },
  QueueDoesNotExist: { queryCode: `${PREFIX}NonExistentQueue` },
  QueueNameExists: { queryCode: "QueueAlreadyExists" },
  UnsupportedOperation: { queryCode: `${PREFIX}UnsupportedOperation` },
  OverLimit: { status: 403 },
  ReceiptHandleIsInvalid: { status: 404 },
  RequestThrottled: { status: 403 },
  ResourceNotFoundException: { status: 404 },
  InvalidClientTokenId: { status: 403, type: "com.amazon.coral.service#InvalidClientTokenId" },
  InternalFailure: { status: 500, type: "com.amazon.coral.service#InternalFailure" },
  ServiceUnavailable: { status: 503, type: "com.amazon.coral.service#ServiceUnavailable" },
  // Not in the model, and with another name where only `__type` is looked at (SQS-21).
  InvalidParameterValue: { type: "com.amazon.coral.service#InvalidParameterValueException" },
  MissingParameter: { type: "com.amazon.coral.service#MissingParameterException" },
};

export function wireError(code: string, statusWanted?: number): WireError {
  const { queryCode = code, status = 400, type = `com.amazonaws.sqs#${code}` } = WIRE[code] ?? {};
  const sent = statusWanted ?? status;
  return { type, queryCode, status: sent, senderFault: sent < 500 };
}

export function invalidParameter(message: string): SqsError {
  return new SqsError("InvalidParameterValue", message);
}

/** A parameter whose value cannot be, in the service's own words. */
export function invalidValue(value: unknown, parameter: string, reason: string): SqsError {
  return invalidParameter(`Value ${String(value)} for parameter ${parameter} is invalid. Reason: ${reason}`);
}

export function missingParameter(name: string): SqsError {
  return new SqsError("MissingParameter", `The request must contain the parameter ${name}.`);
}
