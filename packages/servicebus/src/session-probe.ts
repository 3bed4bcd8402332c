import type { ServiceBusReceivedMessage, ServiceBusReceiver, ServiceBusSessionReceiver } from "@azure/service-bus";
import { fromServicebus } from "./errors.ts";

/** What is there at this moment: the service knows no "next session, or none". */
export interface SessionProbe {
  /** Takes sessions that have something, oldest first, as wanted; those that others hold are passed over. */
  take(wanted: Wanted, taken: (receiver: ServiceBusSessionReceiver) => void): Promise<void>;
  /** Has this session, which is ours, something to hand out? */
  hasMore(receiver: ServiceBusSessionReceiver): Promise<boolean>;
}

export interface Wanted {
  readonly max: number;
  /** Sessions that are tried, at most. */
  readonly tries: number;
  /** Is it held here already? */
  isOurs(id: string): boolean;
}

/** Messages that one look sees. */
const MAX_PEEKED = 64;

type From = NonNullable<ServiceBusReceivedMessage["sequenceNumber"]>;

export function createSessionProbe(
  browser: ServiceBusReceiver,
  accept: (id: string, signal: AbortSignal) => Promise<ServiceBusSessionReceiver>,
  during: <T>(call: (lost: AbortSignal) => Promise<T>) => Promise<T>,
): SessionProbe {
  /** The first number there is. The SDK goes on from where the last peek ended unless it is told from where. */
  let start: From | undefined;

  async function peek(
    receiver: Pick<ServiceBusReceiver, "peekMessages">,
  ): Promise<readonly ServiceBusReceivedMessage[]> {
    const from = start === undefined ? {} : { fromSequenceNumber: start };
    // The option is not in the SDK's types; without it the bodies come along.
    const options = { ...from, omitMessageBody: true };
    const messages = await during((abortSignal) => receiver.peekMessages(MAX_PEEKED, { ...options, abortSignal }));
    const first = messages[0]?.sequenceNumber;
    if (first !== undefined) start ??= first.sub(first);
    return messages.filter(({ state }) => state === "active");
  }

  /** `undefined`: somebody else has it. */
  async function taken(id: string): Promise<ServiceBusSessionReceiver | undefined> {
    try {
      return await during((lost) => accept(id, lost));
    } catch (error) {
      if (fromServicebus(error, "accepting a session").code === "LeaseHeld") return undefined;
      throw error;
    }
  }

  async function hasMore(receiver: ServiceBusSessionReceiver): Promise<boolean> {
    return (await peek(receiver)).length > 0;
  }

  return {
    hasMore,
    async take({ max, tries, isOurs }, found) {
      const ids = new Set((await peek(browser)).map(({ sessionId = "" }) => sessionId));
      const others = [...ids].filter((id) => !isOurs(id)).slice(0, tries);
      let count = 0;
      for (const id of others) {
        if (count === max) break;
        const receiver = isOurs(id) ? undefined : await taken(id);
        if (receiver === undefined) continue;
        found(receiver);
        count += 1;
      }
    },
  };
}
