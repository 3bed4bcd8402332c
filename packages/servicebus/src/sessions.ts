import type { ServiceBusReceivedMessage, ServiceBusSessionReceiver } from "@azure/service-bus";
import { type Clock, LeaseholdError, type Timer } from "@leasehold/core/driver";
import { fromServicebus } from "./errors.ts";
import type { Arrival } from "./messages.ts";
import { createHeldSession, type HeldSession } from "./session.ts";
import type { SessionProbe } from "./session-probe.ts";
import type { Asked } from "./streams.ts";

/**
 * Receives from an entity with sessions: the next session that has something is taken, its first message handed out, and its
 * second when the first is settled. So a key is worked on by one, in order, and as many keys at once as there are slots;
 * what would only wait behind its head takes none.
 */
export interface Sessions {
  receive(asked: Asked): Promise<readonly Arrival[]>;
  close(): Promise<void>;
}

export interface SessionParts {
  readonly clock: Clock;
  readonly doing: string;
  /** Waits for a session that has something, a while. Throws what the SDK throws, `ServiceTimeout` when there is none. */
  readonly acceptNext: (signal: AbortSignal) => Promise<ServiceBusSessionReceiver>;
  readonly probe: SessionProbe;
  readonly arrivalOf: (message: ServiceBusReceivedMessage, session: HeldSession) => Arrival;
  /** The lock of a session is fresh; it ends then, wall ms. */
  readonly locked: (until: number) => void;
  readonly lockMs: () => number;
}

/** One session that is ours. */
interface Entry {
  readonly session: HeldSession;
  /** `working`: its message is handed out. `resting`: its message is settled. `asking`: for its next one. `ready`: that is here. `held`: for a delay. */
  state: "working" | "resting" | "asking" | "ready" | "held";
  /** The service gave it because it has something. */
  isNew: boolean;
  timer?: Timer;
  arrival?: Arrival;
}

interface Waiter {
  readonly max: number;
  answer(arrivals: readonly Arrival[]): void;
  fail(error: LeaseholdError): void;
}

/** How long a session is kept for the next receive. In a worker that comes a moment after the settle. */
const GRACE_MS = 100;
/** Sessions that are tried at the end of a wait; that of the service itself has seen all of them. */
const MAX_TRIES = 8;
/** How long a session that should have something is waited for: what was seen in it may be gone before it comes. */
const ANSWER_MS = 5_000;
/** A wait for a session that ends sooner than this, empty, was none. */
const MIN_ACCEPT_MS = 100;

export function createSessions(parts: SessionParts): Sessions {
  const { clock, doing, probe, lockMs } = parts;
  const entries = new Map<string, Entry>();
  const waiters: Waiter[] = [];
  let isAccepting = false;
  /** The SDK keeps a timer for each session that it waits for, of a minute, which outlives the connection. */
  const closing = new AbortController();

  const inState = (state: Entry["state"]): Entry[] => [...entries.values()].filter((entry) => entry.state === state);

  const isOurs = (entry: Entry): boolean => entries.get(entry.session.id) === entry;

  function drop(entry: Entry): Promise<void> {
    entry.timer?.cancel();
    if (isOurs(entry)) entries.delete(entry.session.id);
    return entry.session.close();
  }

  function dropAfter(entry: Entry, ms: number): void {
    entry.timer?.cancel();
    entry.timer = clock.setTimer(Math.min(ms, lockMs() / 4), () => {
      void drop(entry);
      pump();
    });
  }

  function adopt(receiver: ServiceBusSessionReceiver, state: Entry["state"]): Entry {
    const keeper = {
      settled: (isGone: boolean) => settled(entry, isGone),
      hold: (forMs: number) => hold(entry, forMs),
    };
    const entry: Entry = { session: createHeldSession(receiver, clock, keeper), state, isNew: true };
    const former = entries.get(receiver.sessionId);
    // That lock was lost, or the service would not have given it once more.
    if (former !== undefined) void drop(former);
    entries.set(receiver.sessionId, entry);
    parts.locked(receiver.sessionLockedUntilUtc.getTime());
    return entry;
  }

  /** Sessions whose lock is gone, or has run out, are nobody's. */
  function prune(): void {
    for (const entry of entries.values()) {
      if (entry.session.isLost() || entry.session.leftMs() === 0) void drop(entry);
    }
  }

  /** Hands out what is here, and asks for what is wanted beyond that: of our sessions first, and then of the next one. */
  function pump(): void {
    prune();
    let ready = inState("ready");
    while (ready.length > 0 && waiters.length > 0) {
      const waiter = waiters.shift() as Waiter;
      const handed = ready.slice(0, waiter.max);
      ready = ready.slice(waiter.max);
      for (const entry of handed) {
        entry.timer?.cancel();
        entry.state = "working";
      }
      waiter.answer(handed.map((entry) => entry.arrival as Arrival));
    }
    let wanted = waiters.reduce((sum, { max }) => sum + max, 0) - inState("asking").length;
    for (const entry of inState("resting")) {
      if (wanted-- <= 0) break;
      void ask(entry);
    }
    if (wanted > 0 && !isAccepting && !closing.signal.aborted) void accept();
  }

  function rest(entry: Entry): void {
    entry.state = "resting";
    pump();
    if (entry.state === "resting") dropAfter(entry, GRACE_MS);
  }

  async function ask(entry: Entry): Promise<void> {
    const { session, isNew } = entry;
    entry.state = "asking";
    entry.isNew = false;
    dropAfter(entry, ANSWER_MS);
    try {
      // The lock is the session's, and has been running since the message before.
      if (session.leftMs() < lockMs() / 2) parts.locked(await session.renew());
      // An empty session is not waited for: others may have something.
      const message = isNew || (await probe.hasMore(session.receiver)) ? await session.next() : undefined;
      if (message !== undefined && isOurs(entry)) {
        entry.arrival = parts.arrivalOf(message, session);
        entry.state = "ready";
        dropAfter(entry, GRACE_MS);
      } else void drop(entry);
    } catch {
      // Its lock is lost, and its messages come again; what is wrong beyond that, the next session will tell.
      void drop(entry);
    }
    // What else came in the same breath is handed out along with it.
    process.nextTick(pump);
  }

  async function accept(): Promise<void> {
    isAccepting = true;
    const from = clock.monotonic();
    let receiver: ServiceBusSessionReceiver | undefined;
    try {
      receiver = await parts.acceptNext(closing.signal);
    } catch (thrown) {
      const error = fromServicebus(thrown, doing);
      const isEmpty = error.code === "DeadlineExceeded" || error.code === "LeaseHeld";
      if (!isEmpty || clock.monotonic() - from < MIN_ACCEPT_MS) {
        for (const waiter of waiters.splice(0)) waiter.fail(error);
      }
    }
    isAccepting = false;
    if (receiver === undefined) pump();
    else if (closing.signal.aborted) await drop(adopt(receiver, "resting"));
    else rest(adopt(receiver, "resting"));
  }

  /** What is there at this moment, in our own sessions and in others. */
  async function look(max: number, tries: number): Promise<readonly Arrival[]> {
    prune();
    const found = inState("resting").slice(0, max);
    for (const entry of found) {
      entry.timer?.cancel();
      entry.state = "working";
    }
    try {
      if (found.length < max) {
        const wanted = { max: max - found.length, tries, isOurs: (id: string) => entries.has(id) };
        await probe.take(wanted, (receiver) => found.push(adopt(receiver, "working")));
        if (closing.signal.aborted) throw new LeaseholdError("Unavailable", `${doing}: the driver was closed`);
      }
      const arrivals = await Promise.all(found.map(firstOf));
      return arrivals.filter((arrival) => arrival !== undefined);
    } catch (error) {
      await Promise.all(found.map(drop));
      throw error;
    }
  }

  /** The message that a session has now; one that has none is let go. */
  async function firstOf(entry: Entry): Promise<Arrival | undefined> {
    const { session } = entry;
    entry.isNew = false;
    if (!(await probe.hasMore(session.receiver))) {
      await drop(entry);
      return undefined;
    }
    let isLate = false;
    const timer = clock.setTimer(Math.min(ANSWER_MS, lockMs() / 4), () => {
      isLate = true;
      void drop(entry);
    });
    const message = await session.next().finally(timer.cancel);
    if (isLate) return undefined;
    if (message === undefined)
      throw new LeaseholdError("Unavailable", `${doing}: a session was lost while it was asked`);
    entry.arrival = parts.arrivalOf(message, session);
    return entry.arrival;
  }

  async function looked(max: number, tries: number): Promise<readonly Arrival[]> {
    try {
      return await look(max, tries);
    } catch (thrown) {
      const error = fromServicebus(thrown, doing);
      // What was asked was the session, and it comes again; a receive has no lease to lose.
      throw error.code === "LeaseLost" ? new LeaseholdError("Unavailable", error.message, { cause: thrown }) : error;
    }
  }

  function wait({ max, waitMs, signal }: Asked): Promise<readonly Arrival[]> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        const place = waiters.indexOf(waiter);
        if (place >= 0) waiters.splice(place, 1);
        waiter.answer([]);
      };
      const timer = clock.setTimer(waitMs, end);
      const release = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", end);
      };
      const waiter: Waiter = {
        max,
        answer(arrivals) {
          release();
          resolve(arrivals);
        },
        fail(error) {
          release();
          reject(error);
        },
      };
      signal.addEventListener("abort", end, { once: true });
      waiters.push(waiter);
      pump();
    });
  }

  function settled(entry: Entry, isGone: boolean): void {
    if (!isOurs(entry)) return;
    const isAlone = entry.arrival?.message.messageId === entry.session.id;
    if (isGone && isAlone) {
      // A message without a key is a session by itself: nothing comes after it.
      void drop(entry);
      pump();
    } else rest(entry);
  }

  function hold(entry: Entry, forMs: number): void {
    if (!isOurs(entry)) return;
    const { session } = entry;
    const until = clock.monotonic() + forMs;
    const beat = (): void => {
      if (!isOurs(entry)) return;
      entry.timer = clock.setTimer(Math.min(until - clock.monotonic(), session.leftMs() / 2), () => {
        if (clock.monotonic() >= until) rest(entry);
        else
          void session
            .renew()
            .then(parts.locked)
            .then(beat, () => drop(entry));
      });
    };
    entry.state = "held";
    beat();
  }

  return {
    async receive(asked) {
      const arrivals = asked.waitMs === 0 ? [] : await wait(asked);
      // A wait may be over while a session is being opened: it is empty when there is nothing.
      return arrivals.length > 0 || asked.signal.aborted
        ? arrivals
        : looked(asked.max, asked.waitMs === 0 ? Number.POSITIVE_INFINITY : MAX_TRIES);
    },
    async close() {
      closing.abort();
      await Promise.all([...entries.values()].map(drop));
    },
  };
}
