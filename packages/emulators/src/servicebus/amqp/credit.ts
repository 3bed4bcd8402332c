import type { SendingLink } from "./rhea.ts";

/**
 * How many deliveries a receiver lets us send, counted as AMQP does: as a limit to the number of deliveries that the link
 * ever had. rhea counts those it has written; here those count that are on their way to it.
 */
export interface Credit {
  /** A flow came in; answers how much it added, which counts only once it is admitted. */
  granted(): number;
  admit(amount: number): void;
  use(amount: number): void;
  /** Everything is used up, as the receiver asked. */
  drain(): void;
  /** How many more can be sent now. */
  left(): number;
}

export function createCredit(link: SendingLink): Credit {
  let seen = 0;
  let limit = 0;
  let taken = 0;

  /** What fits into the peer's window, with what rhea has not yet written, and into rhea's buffer. */
  function room(): number {
    const { outgoing } = link.session;
    const unwritten = outgoing.next_delivery_id - outgoing.next_pending_delivery;
    return Math.min(outgoing.available(), outgoing.transfer_window() - unwritten);
  }

  return {
    granted() {
      const now = link.delivery_count + link.credit;
      if (!Number.isFinite(now)) return 0;
      const added = now - seen;
      seen = now;
      // A receiver may take back what it has granted, but for what is sent already.
      if (added < 0) limit = Math.max(taken, limit + added);
      return Math.max(0, added);
    },
    admit(amount) {
      limit += amount;
    },
    use(amount) {
      taken += amount;
    },
    drain() {
      taken = seen;
      limit = seen;
    },
    left: () => Math.max(0, Math.min(limit - taken, room())),
  };
}
