import type { ServiceBusSender } from "@azure/service-bus";
import { endingWith } from "@leasehold/core/driver";
import type { Sender, SendOptions } from "./batches.ts";
import { closeInTime } from "./client.ts";
import { fromServicebus, isUnclear } from "./errors.ts";
import type { LossWatch } from "./losses.ts";

/** A sender that is replaced where the SDK might never open it again. */
export interface RenewedSender extends Sender {
  close(): Promise<void>;
}

/** One link of the SDK's. */
interface Link {
  readonly sender: ServiceBusSender;
  /** Calls under way on it. */
  calls: number;
  /** Whether its connection is watched. */
  isWatched: boolean;
}

/**
 * Sends on one link until its connection is lost, or a call has no clear answer, and on a new one then. A link that the
 * service detached is closed by the SDK, which waits for the answer, and forgets to end the wait when the connection is lost
 * before. Nothing of that client would work again, since it ends all its senders before it connects anew; one that was closed is
 * none of them.
 */
export function createRenewedSender(create: () => ServiceBusSender, watch: LossWatch): RenewedSender {
  let current = createLink();

  function createLink(): Link {
    return { sender: create(), calls: 0, isWatched: false };
  }

  function replace(link: Link): void {
    if (link === current) current = createLink();
  }

  function watchOver(link: Link): void {
    if (link.isWatched) return;
    link.isWatched = true;
    watch.next(() => {
      replace(link);
      // At once: the SDK looks for its senders in the next turn.
      void closeInTime([link.sender]);
    });
  }

  async function on<T>(
    { abortSignal }: SendOptions,
    call: (sender: ServiceBusSender, ending: { readonly abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const link = current;
    watchOver(link);
    link.calls++;
    try {
      return await watch.during("sending", async (lost) => {
        const ending = endingWith(lost, abortSignal);
        try {
          return await call(link.sender, { abortSignal: ending.signal });
        } finally {
          ending.release();
        }
      });
    } catch (error) {
      if (isUnclear(fromServicebus(error, "sending"))) replace(link);
      throw error;
    } finally {
      link.calls--;
      // Calls beside one that failed may still be answered.
      if (link !== current && link.calls === 0) void closeInTime([link.sender]);
    }
  }

  return {
    createMessageBatch: (options) =>
      on(options, (sender, ending) => sender.createMessageBatch({ ...options, ...ending })),
    sendMessages: (messages, options) =>
      on(options, (sender, ending) => sender.sendMessages(messages, { ...options, ...ending })),
    close: () => current.sender.close(),
  };
}
