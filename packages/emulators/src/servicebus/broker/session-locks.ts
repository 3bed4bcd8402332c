import type { EmulatorClock } from "../../clock.ts";
import { ServicebusError, sessionLockLost } from "../errors.ts";
import type { Inventory } from "./inventory.ts";
import type { Session, SessionHolder } from "./session.ts";

/** The lock of a session, in the hands of one receiver. */
export interface SessionHold {
  readonly session: Session;
  /** ms since the epoch. */
  lockedUntil(): number;
  /** Answers until when it holds, ms since the epoch. Throws `com.microsoft:session-lock-lost`, as all of these do. */
  renew(): number;
  state(): Buffer | undefined;
  setState(state: Buffer | undefined): void;
  isHeld(): boolean;
  /** Throws when the lock is lost. */
  check(): void;
  /** Gives it back; what it had locked can be received again, and no delivery counts. Harmless when it is lost. */
  release(): void;
}

export interface SessionLocks {
  /** Throws `com.microsoft:session-cannot-be-locked` when somebody else has it. */
  accept(id: string, lost: () => void): SessionHold;
  /** The next session that has messages and no holder, now or later. The answer may come before this returns. */
  acceptNext(lost: () => void, accepted: (hold: SessionHold) => void): { cancel(): void };
  /** Gives sessions to those who wait for one. */
  serve(): void;
}

interface Waiter {
  readonly lost: () => void;
  readonly accepted: (hold: SessionHold) => void;
}

export function createSessionLocks(
  clock: EmulatorClock,
  inventory: Inventory,
  lockDurationMs: number,
  changed: () => void,
): SessionLocks {
  const { sessions } = inventory;
  const waiters = new Set<Waiter>();

  function hold(session: Session, lost: () => void): SessionHold {
    const holder: SessionHolder = { lost };
    sessions.lock(session, holder, clock.now() + lockDurationMs);

    const isHeld = (): boolean => {
      inventory.settleTime();
      return session.holder === holder;
    };
    const check = (): void => {
      if (!isHeld()) throw sessionLockLost();
    };

    return {
      session,
      lockedUntil: () => session.lockedUntil,
      renew() {
        check();
        sessions.lock(session, holder, clock.now() + lockDurationMs);
        changed();
        return session.lockedUntil;
      },
      state() {
        check();
        return session.state;
      },
      setState(state) {
        check();
        session.state = state;
        session.updatedAt = clock.now();
      },
      isHeld,
      check,
      release() {
        if (isHeld()) inventory.freeSession(session, false);
        changed();
      },
    };
  }

  return {
    accept(id, lost) {
      inventory.settleTime();
      const session = sessions.open(id);
      if (session.holder !== undefined) {
        throw new ServicebusError(
          "com.microsoft:session-cannot-be-locked",
          `The requested session ${JSON.stringify(id)} cannot be accepted. It may be locked by another receiver.`,
        );
      }
      const held = hold(session, lost);
      changed();
      return held;
    },
    acceptNext(lost, accepted) {
      const waiter = { lost, accepted };
      waiters.add(waiter);
      changed();
      return { cancel: () => void waiters.delete(waiter) };
    },
    serve() {
      for (const waiter of waiters) {
        const session = sessions.next();
        if (session === undefined) return;
        waiters.delete(waiter);
        waiter.accepted(hold(session, waiter.lost));
      }
    },
  };
}
