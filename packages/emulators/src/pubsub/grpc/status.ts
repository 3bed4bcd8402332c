import { Metadata, type ServerErrorResponse } from "@grpc/grpc-js";
import { PubsubError, STATUS, type StatusName } from "../errors.ts";

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";
const DOMAIN = "pubsub.googleapis.com";
const ACK_ID_FAILURE = "EXACTLY_ONCE_ACKID_FAILURE";

/** An error as gRPC sends it; what became of single ack ids goes into the trailer that the SDKs read (PS-04). */
export function errorResponse(error: unknown): ServerErrorResponse {
  if (!(error instanceof PubsubError)) {
    return { name: "Error", code: STATUS.INTERNAL, details: String(error), message: String(error) };
  }
  const { message, status, ackFailures } = error;
  const code = STATUS[status];
  const metadata = new Metadata();
  if (ackFailures !== undefined) metadata.set("grpc-status-details-bin", statusDetails(code, message, ackFailures));
  return { name: "Error", code, details: message, message, metadata };
}

/** What a fault asks for; a name that is none is UNKNOWN. */
export function faultResponse(code: string, message = `${code}, as asked for`): ServerErrorResponse {
  const status = Object.hasOwn(STATUS, code) ? (code as StatusName) : "UNKNOWN";
  return errorResponse(new PubsubError(status, message));
}

/** `google.rpc.Status { code, message, details: [Any(ErrorInfo { reason, domain, metadata })] }` */
function statusDetails(code: number, message: string, metadata: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(metadata).map(([key, value]) =>
    field(3, Buffer.concat([text(1, key), text(2, value)])),
  );
  const info = Buffer.concat([text(1, ACK_ID_FAILURE), text(2, DOMAIN), ...entries]);
  const any = Buffer.concat([text(1, ERROR_INFO), field(2, info)]);
  return Buffer.concat([Buffer.from([0x08, code]), text(2, message), field(3, any)]);
}

function text(number: number, value: string): Buffer {
  return field(number, Buffer.from(value));
}

/** A field of the wire type for bytes: https://protobuf.dev/programming-guides/encoding/ */
function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 0x7f) | 0x80);
  }
}
