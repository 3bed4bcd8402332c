import type { Inbox } from "../../broker/inbox.ts";
import type { Queue } from "../../broker/queue.ts";
import type { SessionHold } from "../../broker/session-locks.ts";
import { notAllowed } from "../../errors.ts";
import type { Fields } from "../fields.ts";

/** What an operation of `$management` works on. */
export interface Input {
  readonly fields: Fields;
  /** `undefined` where nothing can be sent to. */
  readonly inbox: Inbox | undefined;
  /** `undefined` on a topic. */
  readonly queue: Queue | undefined;
  /** The session that the asking client has. Throws `com.microsoft:session-lock-lost` when it has not. */
  hold(sessionId: string): SessionHold;
}

/** Answers the body of the reply; `undefined`: there is nothing to say. Throws a `ServicebusError`. */
export type Operation = (input: Input) => object | undefined;

export function inboxIn({ inbox }: Input): Inbox {
  if (inbox === undefined) throw notAllowed("Nothing can be sent to this entity.");
  return inbox;
}

export function queueIn({ queue }: Input): Queue {
  if (queue === undefined) throw notAllowed("Nothing can be received from this entity.");
  return queue;
}
