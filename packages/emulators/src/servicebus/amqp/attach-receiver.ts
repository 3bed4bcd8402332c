import type { Queue } from "../broker/queue.ts";
import type { SessionHold } from "../broker/session-locks.ts";
import { notAllowed, ServicebusError, sessionLockLost } from "../errors.ts";
import { pathOf } from "./address.ts";
import { accept, type Peer, refuse, whenOver } from "./peer.ts";
import { type Receiving, serveReceiver } from "./receiving.ts";
import { type SendingLink, type Typed, types } from "./rhea.ts";

const SESSION_FILTER = "com.microsoft:session-filter";
const TIMEOUT = "com.microsoft:timeout";
const DEFAULT_TIMEOUT_MS = 60_000;
/** Ticks of .NET: 100 ns since the year 1. */
const TICKS_PER_MS = 10_000n;
const TICKS_OF_EPOCH = 621_355_968_000_000_000n;

/** A client wants to receive from an entity. */
export function attachReceiver(peer: Peer, link: SendingLink): void {
  const { connection, server, tokens } = peer;
  const entity = pathOf(link.source?.address ?? "");
  const filter = link.source?.filter ?? {};
  const wantsSession = Object.hasOwn(filter, SESSION_FILTER);
  const asked = filter[SESSION_FILTER];
  const sessionId = isTyped(asked) ? asked.value : asked;

  function open(queue: Queue, hold: SessionHold | undefined): Receiving | undefined {
    if (!link.is_remote_open()) return undefined;
    const receiving = serveReceiver(peer, link, queue, hold);
    if (hold === undefined) accept(link);
    else {
      peer.holds.set(link.name, { path: queue.path, hold });
      link.local.attach.properties = { "com.microsoft:locked-until-utc": types.Long(ticksOf(hold.lockedUntil())) };
      accept(link, { filter: { [SESSION_FILTER]: likeAsked(asked, hold.session.id) } });
    }
    receiving.start();
    return receiving;
  }

  function openSession(queue: Queue, answer: (send: () => void) => void): void {
    let receiving: Receiving | undefined;
    const lost = (): void => {
      peer.holds.delete(link.name);
      receiving?.detach(sessionLockLost());
    };
    const give = (hold: SessionHold): void => {
      // The client can go, or a fault can cut it off, before it learns of the session.
      whenOver(peer, link, () => {
        peer.holds.delete(link.name);
        hold.release();
      });
      answer(() => {
        if (hold.isHeld()) receiving = open(queue, hold);
        else refuse(link, sessionLockLost());
      });
    };
    if (typeof sessionId === "string") give(queue.sessions.accept(sessionId, lost));
    else waitForSession(queue, lost, give, answer);
  }

  function waitForSession(
    queue: Queue,
    lost: () => void,
    give: (hold: SessionHold) => void,
    answer: (send: () => void) => void,
  ): void {
    const timeout = link.properties?.[TIMEOUT];
    const timeoutMs = typeof timeout === "number" ? timeout : DEFAULT_TIMEOUT_MS;
    const end = (send: () => void): void => {
      timer.cancel();
      waiter.cancel();
      answer(send);
    };
    const timer = server.clock.setTimer(timeoutMs, () => end(() => refuse(link, noSession())));
    const waiter = queue.sessions.acceptNext(lost, (hold) => {
      timer.cancel();
      give(hold);
    });
    // A link that was never open needs no end.
    whenOver(peer, link, () => end(() => {}));
  }

  const input = { entity, role: "receiver", link: link.name, sessionId };
  server.gate.pass(
    connection,
    { operation: "Attach", input, entries: 1 },
    {
      apply(answer) {
        tokens.check(entity);
        const found = server.namespace.find(entity);
        if (found.kind === "topic") throw notAllowed("Messages of a topic are received from its subscriptions.");
        found.queue.checkReceiver(wantsSession);
        if (wantsSession) openSession(found.queue, answer);
        else answer(() => void open(found.queue, undefined));
      },
      refuse: (error) => refuse(link, error),
    },
  );
}

function noSession(): ServicebusError {
  return new ServicebusError("com.microsoft:timeout", "No session became available within the time that was given.");
}

/** rhea leaves a value as it came when it is described. Go's SDK describes the filter, JavaScript's does not. */
function isTyped(value: unknown): value is Typed {
  return typeof value === "object" && value !== null && "value" in value;
}

/** Each SDK wants the filter of the answer in the form that it gave it. */
function likeAsked(asked: unknown, id: string): unknown {
  const descriptor = isTyped(asked) ? asked.descriptor : undefined;
  return descriptor === undefined ? id : types.described_nc(descriptor, types.wrap_string(id));
}

function ticksOf(timeMs: number): Buffer {
  const ticks = Buffer.alloc(8);
  ticks.writeBigInt64BE(BigInt(Math.floor(timeMs)) * TICKS_PER_MS + TICKS_OF_EPOCH);
  return ticks;
}
