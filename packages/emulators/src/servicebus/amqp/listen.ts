import { createServer, type Socket } from "node:net";
import { openPort, type Port } from "../../port.ts";
import { managedPath, pathOf } from "./address.ts";
import { attachReceiver } from "./attach-receiver.ts";
import { attachSender } from "./attach-sender.ts";
import { attachCbs, CBS_NODE } from "./cbs.ts";
import { acceptConnection } from "./connection.ts";
import { attachManagement } from "./management.ts";
import type { Peer, Server } from "./peer.ts";
import { attachReplies } from "./requests.ts";
import { type AmqpLink, createContainer, type SendingLink } from "./rhea.ts";
import { createTokens, type TokenRules, tokenExpired } from "./tokens.ts";

/** Settling, accepting and releasing are the broker's affair. The buffers hold what a client leaves unsettled. */
const CONNECTION_OPTIONS = {
  autosettle: false,
  autoaccept: false,
  treat_modified_as_released: false,
  tcp_no_delay: true,
  session_buffer_size: { incoming: 4_096, outgoing: 65_536 },
};

/** Takes connections on 127.0.0.1, and hands each link to what its address says. */
export async function listen(server: Server, port: number, tokenRules: TokenRules): Promise<Port> {
  const container = createContainer({ id: "leasehold-servicebus" });
  const mechanisms = container.sasl_server_mechanisms;
  mechanisms.enable_anonymous();
  mechanisms.enable_plain(() => true);
  // Tokens are put later: the client names no user yet, and is nobody until then.
  mechanisms["MSSBCBS"] = mechanisms["ANONYMOUS"];
  const sockets = new Set<Socket>();

  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    acceptConnection(container, socket, CONNECTION_OPTIONS, (connection) => {
      const tokens = createTokens(server.clock, tokenRules, () => {
        server.links.detach(
          (link) => link.connection === connection && !tokens.covers(link.path),
          ({ path }) => tokenExpired(path),
        );
      });
      connection.onGone(tokens.close);
      const peer: Peer = { server, connection, tokens, holds: new Map(), replies: new Map() };
      return {
        attachReceiver: (link) => routeReceiver(peer, link),
        attachSender: (link) => routeSender(peer, link),
      };
    });
  });

  return openPort(tcp, port, () => {
    for (const socket of sockets) socket.destroy();
  });
}

function routeReceiver(peer: Peer, link: SendingLink): void {
  const path = pathOf(link.source?.address ?? "");
  const isNode = path.toLowerCase() === CBS_NODE || managedPath(path) !== undefined;
  if (isNode) attachReplies(peer, path.toLowerCase(), link);
  else attachReceiver(peer, link);
}

function routeSender(peer: Peer, link: AmqpLink): void {
  const path = pathOf(link.target?.address ?? "");
  const managed = managedPath(path);
  if (path.toLowerCase() === CBS_NODE) attachCbs(peer, link);
  else if (managed !== undefined) attachManagement(peer, managed, path.toLowerCase(), link);
  else attachSender(peer, link);
}
