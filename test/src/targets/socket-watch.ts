import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

/** The connections of this process with itself: both ends of each are here, so what is under way between them can be counted. */
export interface SocketWatch {
  /** Nothing travels: what one end has written the other has read, and each end knows whether the other is there. */
  isQuiet(): boolean;
  /** Grows with every byte that is written or read, and with every connection that is made or ends. */
  count(): number;
  stop(): void;
}

/** A connection, from when either end is seen until both are gone. */
interface Pair {
  client?: Socket;
  server?: Socket;
}

/** What Node publishes about each socket that is made, whatever protocol is spoken on it. */
const CHANNELS = { client: "net.client.socket", server: "net.server.socket" } as const;

/** Watches every connection that is made from now on. */
export function watchSockets(): SocketWatch {
  /** By the ports of client and server: only an end that is connected has both. */
  const pairs = new Map<string, Pair>();
  const connecting = new Set<Socket>();
  let events = 0;
  /** Bytes of connections that are gone. */
  let pastBytes = 0;

  function keep(key: string, end: Pair): void {
    const pair = Object.assign(pairs.get(key) ?? {}, end);
    pairs.set(key, pair);
    events++;
    const socket = (end.client ?? end.server) as Socket;
    socket.once("close", () => {
      events++;
      if (pair.client?.destroyed === false || pair.server?.destroyed === false) return;
      pastBytes += bytesOf(pair);
      // The ports may be in use again.
      if (pairs.get(key) === pair) pairs.delete(key);
    });
  }

  function onClient(message: unknown): void {
    const { socket } = message as { readonly socket: Socket };
    hurry(socket);
    connecting.add(socket);
    socket.once("connect", () => {
      connecting.delete(socket);
      keep(`${socket.localPort}>${socket.remotePort}`, { client: socket });
    });
    socket.once("close", () => connecting.delete(socket));
  }

  function onServer(message: unknown): void {
    const { socket } = message as { readonly socket: Socket };
    hurry(socket);
    keep(`${socket.remotePort}>${socket.localPort}`, { server: socket });
  }

  subscribe(CHANNELS.client, onClient);
  subscribe(CHANNELS.server, onServer);
  return {
    isQuiet: () => connecting.size === 0 && [...pairs.values()].every(isLevel),
    count: () => [...pairs.values()].reduce((sum, pair) => sum + bytesOf(pair), events + pastBytes),
    stop() {
      unsubscribe(CHANNELS.client, onClient);
      unsubscribe(CHANNELS.server, onServer);
    },
  };
}

/** Else small writes wait for each other's acknowledgement, 40 ms at a time, where an SDK leaves that on. */
function hurry(socket: Socket): void {
  socket.setNoDelay(true);
}

function isLevel({ client, server }: Pair): boolean {
  if (client === undefined || server === undefined || client.destroyed || server.destroyed) return false;
  return client.bytesWritten === server.bytesRead && server.bytesWritten === client.bytesRead;
}

function bytesOf({ client, server }: Pair): number {
  return [client, server].reduce((sum, end) => sum + (end?.bytesRead ?? 0) + (end?.bytesWritten ?? 0), 0);
}
