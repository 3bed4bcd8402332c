import type { Broker, NamedQueue } from "../broker.ts";
import { missingParameter } from "../errors.ts";

/** What an operation may know of its caller. */
export interface Caller {
  /** Calls back when the client has gone before it was answered. */
  onGone(listener: () => void): void;
}

/** One operation of the service: takes the parameters, answers the members of the output. Throws `SqsError`. */
export type Operation = (input: Readonly<Record<string, unknown>>, caller: Caller) => object | Promise<object>;

export type Operations = Readonly<Record<string, Operation>>;

/** The queue that a call is about. Of its URL the last part counts, so that a proxy in between does no harm. */
export function queueOf(broker: Broker, input: { readonly QueueUrl?: string }): NamedQueue {
  if (input.QueueUrl === undefined) throw missingParameter("QueueUrl");
  return broker.get(input.QueueUrl.slice(input.QueueUrl.lastIndexOf("/") + 1));
}
