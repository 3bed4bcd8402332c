import { EventEmitter } from "node:events";
import dynalite from "dynalite";
import { type Reply, type Request, type Service, startFront } from "../http/front.ts";
import type { Emulator, HttpEmulatorOptions } from "../shape.ts";

export type DynamodbOptions = HttpEmulatorOptions;
export type DynamodbEmulator = Emulator;

/** Statuses that differ from 400 among the errors that a client can meet. */
const STATUS: Readonly<Record<string, number>> = {
  InternalServerError: 500,
  InternalFailure: 500,
  ServiceUnavailable: 503,
};
/** Errors that every AWS service has are not of DynamoDB's own namespace. */
const COMMON = ["UnrecognizedClientException", "InternalFailure", "ServiceUnavailable", "ThrottlingException"];

/**
 * Starts DynamoDB on 127.0.0.1: dynalite 4, in memory, behind the front that all emulators share.
 *
 * Known gaps of dynalite 4.0.0: `ReturnValuesOnConditionCheckFailure` is ignored, so a failed condition brings no old
 * item; `TransactWriteItems`, `TransactGetItems`, `UpdateTimeToLive` and PartiQL answer `UnknownOperationException`
 * (`DescribeTimeToLive` works, nothing ever expires); no streams, no backups, no throughput limits. Tables are active at
 * once. Times within dynalite are the machine's: `clock` moves latency and delays of faults only.
 */
export async function startDynamodb(options: DynamodbOptions = {}): Promise<DynamodbEmulator> {
  return startFront(createDynamodbService(), options);
}

function createDynamodbService(): Service {
  // Never listens: requests are handed to it as events, so that one transport serves all emulators.
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });

  return {
    handle: (request) =>
      new Promise((resolve) => {
        const incoming = new EventEmitter();
        const { method, url, headers, body } = request;
        server.emit("request", Object.assign(incoming, { method, url, headers }), createResponse(resolve));
        if (body.length > 0) incoming.emit("data", body);
        incoming.emit("end");
      }),
    entries: entriesOf,
    refuseKey: () =>
      error("UnrecognizedClientException", "The security token included in the request is invalid.", 400),
    renderError: ({ code, message = `${code}: a fault that was asked for`, status = STATUS[code] ?? 400 }) =>
      error(code, message, status),
    close() {},
  };
}

/** As much of a response as dynalite writes to. */
function createResponse(resolve: (reply: Reply) => void): object {
  const headers: Record<string, string | number> = {};
  const response = {
    statusCode: 200,
    setHeader(name: string, value: string | number) {
      headers[name.toLowerCase()] = value;
    },
    end(body = "") {
      resolve({ status: response.statusCode, headers, body });
    },
  };
  return response;
}

/** A batch counts its requests to all tables, a transaction its items. */
function entriesOf(operation: string, input: () => Request["input"]): number {
  if (operation === "BatchWriteItem" || operation === "BatchGetItem") {
    const tables = Object.values((input()?.["RequestItems"] ?? {}) as Readonly<Record<string, unknown>>);
    return tables.reduce<number>((sum, table) => sum + requestsOf(table), 0);
  }
  const items = operation.startsWith("Transact") ? input()?.["TransactItems"] : undefined;
  return Array.isArray(items) ? items.length : 1;
}

function requestsOf(table: unknown): number {
  if (Array.isArray(table)) return table.length;
  const keys = (table as { readonly Keys?: unknown } | null)?.Keys;
  return Array.isArray(keys) ? keys.length : 0;
}

function error(code: string, message: string, status: number): Reply {
  const namespace = COMMON.includes(code) ? "com.amazon.coral.service" : "com.amazonaws.dynamodb.v20120810";
  return {
    status,
    headers: { "content-type": "application/x-amz-json-1.0" },
    body: JSON.stringify({ __type: `${namespace}#${code}`, message }),
  };
}
