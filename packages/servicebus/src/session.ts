import type { ServiceBusReceivedMessage, ServiceBusSessionReceiver } from "@azure/service-bus";
import type { Clock } from "@leasehold/core/driver";

/** A session that is locked by this driver: one lock for all that is in it (SB-03). */
export interface HeldSession {
  readonly id: string;
  readonly receiver: ServiceBusSessionReceiver;
  /** Its lock is gone, and with it every lease of the session. */
  isLost(): boolean;
  /** How long its lock still holds, ms; 0: it does not. */
  leftMs(): number;
  /** One more lock length from now; answers when it ends, wall ms. Throws what the SDK throws. */
  renew(): Promise<number>;
  /** Waits for its next message; `undefined`: it was closed. Throws what the SDK throws. */
  next(): Promise<ServiceBusReceivedMessage | undefined>;
  /** Its message is settled: it goes on with its next one, or lets go. `isGone`: that message does not come again. */
  settled(isGone: boolean): void;
  /** Its message was given back: nobody gets it for so long, while this process lives and its lock can be renewed. */
  hold(forMs: number): void;
  /** Lets go of its lock, and of what came and was not settled, uncounted. Never rejects. */
  close(): Promise<void>;
}

/** It ends by a message, or by the close of the session, long before. */
const WAIT_MS = 86_400_000;

export function createHeldSession(
  receiver: ServiceBusSessionReceiver,
  clock: Clock,
  keeper: Pick<HeldSession, "settled" | "hold">,
): HeldSession {
  let closing: Promise<void> | undefined;
  const leftMs = (): number => receiver.sessionLockedUntilUtc.getTime() - clock.now();
  return {
    id: receiver.sessionId,
    receiver,
    isLost: () => closing !== undefined || receiver.isClosed,
    leftMs: () => Math.max(leftMs(), 0),
    renew: async () => (await receiver.renewSessionLock()).getTime(),
    ...keeper,
    async next() {
      const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: WAIT_MS });
      return message;
    },
    close() {
      // A link that cannot be closed is gone, and its lock runs out.
      closing ??= receiver.close().catch(() => undefined);
      return closing;
    },
  };
}
