import type { handleUnaryCall } from "@grpc/grpc-js";
import type { Call } from "../../calls.ts";
import type { Gate } from "./gate.ts";
import { errorResponse } from "./status.ts";

/** What an operation knows of the caller. */
export interface Caller {
  /** Calls back when the caller has gone, or stops waiting; at once when it has already. */
  onGone(listener: () => void): void;
  isGone(): boolean;
  /** When the caller stops waiting, ms since the epoch by the machine's clock. */
  readonly deadline: number;
}

/** One operation: takes the request as it is parsed, answers or throws a `PubsubError`. */
export type Operation<Input> = (input: Input, caller: Caller) => unknown;

/** `entries`: how many entries the request of a batch has. Default: 1. */
export function unary<Input extends object>(
  gate: Gate,
  operation: string,
  apply: Operation<Input>,
  entries: (input: Input) => number = () => 1,
): handleUnaryCall<Input, unknown> {
  return (call, callback) => {
    const arrived: Call = {
      operation,
      input: call.request as Readonly<Record<string, unknown>>,
      entries: entries(call.request),
    };
    const ended = gate.arrive(arrived);
    call.once("cancelled", ended);
    const caller: Caller = {
      onGone(listener) {
        if (call.cancelled) listener();
        else call.once("cancelled", listener);
      },
      isGone: () => call.cancelled,
      deadline: Number(call.getDeadline()),
    };

    async function answer(): Promise<void> {
      const passage = await gate.enter(arrived, call);
      if (!passage.passes) {
        // Without an answer it is open until the caller goes.
        if (passage.error === undefined) return;
        ended();
        callback(passage.error);
        return;
      }
      let reply: { readonly value?: unknown; readonly error?: unknown };
      try {
        reply = { value: await apply(call.request, caller) };
      } catch (error) {
        reply = { error };
      }
      if (!(await gate.leave(call, passage.fault))) return;
      ended();
      if ("error" in reply) callback(errorResponse(reply.error));
      else callback(null, reply.value);
    }

    void answer();
  };
}
