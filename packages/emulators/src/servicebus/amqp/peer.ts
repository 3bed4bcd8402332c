import type { EmulatorClock } from "../../clock.ts";
import type { Namespace } from "../broker/namespace.ts";
import type { SessionHold } from "../broker/session-locks.ts";
import type { Connection } from "./connection.ts";
import type { Gate } from "./gate.ts";
import type { Links } from "./links.ts";
import type { AmqpLink, SendingLink } from "./rhea.ts";
import type { Tokens } from "./tokens.ts";

/** What all connections share. */
export interface Server {
  readonly clock: EmulatorClock;
  readonly namespace: Namespace;
  readonly gate: Gate;
  readonly links: Links;
}

/** A session that a link of this connection has. */
export interface PeerHold {
  readonly path: string;
  readonly hold: SessionHold;
}

/** One client, with what it has here. */
export interface Peer {
  readonly server: Server;
  readonly connection: Connection;
  readonly tokens: Tokens;
  /** By the name of their link. */
  readonly holds: Map<string, PeerHold>;
  /** Where answers go: the links on which it receives them, by the path of the node. */
  readonly replies: Map<string, Set<SendingLink>>;
}

/** Calls back once when a link is gone, by whatever end: its own, its session's, its connection's. */
export function whenOver({ connection }: Peer, link: AmqpLink, over: () => void, room: () => void = () => {}): void {
  if (!link.is_remote_open()) {
    over();
    return;
  }
  let isOver = false;
  const ended = (): void => {
    if (isOver) return;
    isOver = true;
    forget();
    over();
  };
  const side = link.is_receiver() ? "receiver" : "sender";
  link.on(`${side}_close`, ended);
  // One without a listener would be thrown by rhea.
  link.on(`${side}_error`, () => {});
  const forget = connection.watch(link.session, { room, ended });
}

/** Answers an attach: with the same ends as the peer's, and whatever is given beside. */
export function accept(link: AmqpLink, source: object = {}): void {
  const { attach } = link.local;
  attach.snd_settle_mode = link.snd_settle_mode;
  attach.rcv_settle_mode = link.rcv_settle_mode;
  link.set_source({ address: link.source?.address, ...source });
  link.set_target({ address: link.target?.address });
  link.open();
}

/** Answers an attach with an end that says why. */
export function refuse(link: AmqpLink, { condition, message }: { condition: string; message: string }): void {
  link.open();
  link.close({ condition, description: message });
}
