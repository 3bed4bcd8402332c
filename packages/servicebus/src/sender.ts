import type { ServiceBusSender } from "@azure/service-bus";
import type { Sender } from "./batches.ts";
import { closeInTime } from "./client.ts";
import { fromServicebus, isUnclear } from "./errors.ts";
import type { LossWatch } from "./losses.ts";

/** A sender that is replaced when it may be stuck. */
export interface RenewedSender extends Sender {
  close(): Promise<void>;
}

/** One link of the SDK's, and how many calls are under way on it. */
interface Link {
  readonly sender: ServiceBusSender;
  calls: number;
}

/**
 * Sends on one link, and on a new one after a call without a clear answer. The SDK closes a sender that was detached, and
 * waits for the end of that before it opens it again; where the connection breaks in between, the end never comes, and
 * each send from then on would run into its time-out.
 */
export function createRenewedSender(create: () => ServiceBusSender, watch: LossWatch): RenewedSender {
  let current: Link = { sender: create(), calls: 0 };

  function retire(link: Link): void {
    if (link === current) current = { sender: create(), calls: 0 };
    // Calls beside the one that failed may still be answered.
    if (link.calls === 0) void closeInTime([link.sender]);
  }

  async function on<T>(call: (sender: ServiceBusSender) => Promise<T>): Promise<T> {
    const link = current;
    link.calls++;
    let isStuck = false;
    try {
      return await watch.during("sending", () => call(link.sender));
    } catch (error) {
      isStuck = isUnclear(fromServicebus(error, "sending"));
      throw error;
    } finally {
      link.calls--;
      if (isStuck || link !== current) retire(link);
    }
  }

  return {
    createMessageBatch: (options) => on((sender) => sender.createMessageBatch(options)),
    sendMessages: (messages, options) => on((sender) => sender.sendMessages(messages, options)),
    close: () => current.sender.close(),
  };
}
