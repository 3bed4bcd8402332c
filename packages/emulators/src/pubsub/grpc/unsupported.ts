import type { handleUnaryCall } from "@grpc/grpc-js";
import { PubsubError } from "../errors.ts";
import type { Gate } from "./gate.ts";
import { unary } from "./unary.ts";

/** An operation that this server does not have, and says so. */
export function unsupported(gate: Gate, operation: string, what: string): handleUnaryCall<object, unknown> {
  return unary(gate, operation, () => {
    throw new PubsubError("UNIMPLEMENTED", `${operation}: this server has no ${what}.`);
  });
}
