import type { ServiceBusReceivedMessage, ServiceBusReceiver } from "@azure/service-bus";
import { invalid, type LeaseholdError, type Outcome } from "@leasehold/core/driver";
import { createDispositions } from "./dispositions.ts";
import { fromServicebus, isAlreadySettled, outcomeOf } from "./errors.ts";
import type { LinkEvents, LossWatch } from "./losses.ts";
import { byToken, type HeldMessage, isToken, linkOf, NO_TOKEN, type ServicebusDelivery } from "./messages.ts";
import type { HeldSession } from "./session.ts";

/** What receivers of all kinds can do with a message. */
export type Settler = Pick<ServiceBusReceiver, "completeMessage" | "abandonMessage" | "deadLetterMessage">;

/** One settle, by whichever receiver. */
export interface Settle {
  readonly doing: string;
  /** What it says on the link. */
  readonly outcome: "complete" | "other";
  /** The message does not come again. */
  readonly isEnd: boolean;
  by(receiver: Settler, message: ServiceBusReceivedMessage): Promise<void>;
}

export const COMPLETE: Settle = {
  doing: "completing",
  outcome: "complete",
  isEnd: true,
  by: (receiver, message) => receiver.completeMessage(message),
};

export const ABANDON: Settle = {
  doing: "abandoning",
  outcome: "other",
  isEnd: false,
  by: (receiver, message) => receiver.abandonMessage(message),
};

export interface Settling {
  /** Never rejects. */
  settle(delivery: ServicebusDelivery, settle: Settle): Promise<Outcome>;
  /** Answers when the lock ends now, wall ms. Never rejects. */
  renew(delivery: ServicebusDelivery, ended: (lockedUntil: number) => void): Promise<Outcome>;
}

const RENEWING = "renewing a lock";

export interface SettlingParts {
  /** Of the client that received. */
  readonly onLink: Settler;
  readonly polling: LossWatch;
  /** Of the other client, which goes by lock tokens alone. */
  readonly token: ServiceBusReceiver;
  readonly controlling: LossWatch;
}

/**
 * Settles on the link on which the message came, and by its lock token where the link is gone (SB-05, SB-06). What the client
 * holds for settled (SB-21) is asked by its token, too: a settle that the broker refused for the moment is one of those.
 */
export function createSettling({ onLink, polling, token, controlling }: SettlingParts): Settling {
  const dispositions = createDispositions();

  async function tried(
    watch: LossWatch,
    doing: string,
    call: () => Promise<void>,
    link?: LinkEvents,
  ): Promise<LeaseholdError | undefined> {
    try {
      await watch.during(doing, call, link);
      return undefined;
    } catch (error) {
      return fromServicebus(error, doing);
    }
  }

  const outcome = (error: LeaseholdError | undefined): Outcome =>
    error === undefined ? { status: "confirmed" } : outcomeOf(error);

  /** What is no token at all is asked about as well: a queue that is not there, or closed to us, is the greater fault. */
  async function known(
    delivery: ServicebusDelivery,
    doing: string,
    call: (token: string) => Promise<void>,
  ): Promise<Outcome> {
    if (isToken(delivery.token)) return outcome(await tried(controlling, doing, () => call(delivery.token)));
    const error = await tried(controlling, doing, () => call(NO_TOKEN));
    if (error !== undefined && error.code !== "LeaseLost") return outcomeOf(error);
    const refused = invalid("token", "the lock token of a delivery", delivery.token);
    return { status: "failed", code: refused.code, error: refused };
  }

  function settleByToken(delivery: ServicebusDelivery, { doing, by }: Settle): Promise<Outcome> {
    return known(delivery, doing, (lockToken) => by(token, byToken(lockToken)));
  }

  /** A session has one message out at a time, so nothing is beside what is said of it. */
  async function settleInSession(
    message: ServiceBusReceivedMessage,
    session: HeldSession,
    { doing, by }: Settle,
  ): Promise<Outcome> {
    if (session.isLost()) return { status: "lost" };
    const link = linkOf(message);
    if (link === "gone") return { status: "lost" };
    const error = await tried(polling, doing, () => by(session.receiver, message), link);
    if (error === undefined || !isAlreadySettled(error)) return outcome(error);
    return outcome(
      await tried(polling, doing, () => by(session.receiver, byToken(message.lockToken ?? "", session.id))),
    );
  }

  /** What is known of a delivery under its own token; a delivery from elsewhere has nothing but the token. */
  function heldOf({ held, token: lockToken }: ServicebusDelivery): HeldMessage | undefined {
    const known = held?.();
    return known?.message.lockToken === lockToken ? known : undefined;
  }

  return {
    async settle(delivery, settle) {
      const held = heldOf(delivery);
      if (held === undefined) return settleByToken(delivery, settle);
      const { message, session } = held;
      if (session !== undefined) return settleInSession(message, session, settle);
      const link = linkOf(message);
      if (link === "gone") return settleByToken(delivery, settle);
      const say = (): Promise<void> => dispositions.say(settle.outcome, () => settle.by(onLink, message));
      const error = await tried(polling, settle.doing, say, link);
      if (error === undefined || !isAlreadySettled(error)) return outcome(error);
      return settleByToken(delivery, settle);
    },
    async renew(delivery, ended) {
      const session = heldOf(delivery)?.session;
      if (session?.isLost() === true) return { status: "lost" };
      if (session !== undefined)
        return outcome(await tried(polling, RENEWING, async () => ended(await session.renew())));
      return known(delivery, RENEWING, async (lockToken) => {
        ended((await token.renewMessageLock(byToken(lockToken))).getTime());
      });
    },
  };
}
