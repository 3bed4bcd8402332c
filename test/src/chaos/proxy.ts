import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A port in front of a server, where the network can be bad. */
export interface FaultProxy {
  readonly port: number;
  /** How long what arrives is under way, ms, each way. */
  latencyMs: number;
  /** Breaks every connection off; answers how many there were. */
  cut(): number;
  /** Nothing passes any more in either direction, and nobody is told; what was under way is lost. Ends with `thaw`. */
  freeze(): void;
  /** The frozen connections break off, new ones pass. */
  thaw(): void;
  /** Bytes that passed. */
  readonly passed: number;
  close(): Promise<void>;
}

/** Hears what clients say, by connection. */
export type ProxyTap = (bytes: Buffer, connection: Socket) => void;

/** Listens on a free port of 127.0.0.1 for connections to `target`, another port there. */
export async function startProxy(target: number, tap?: ProxyTap): Promise<FaultProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let frozen = false;
  let passed = 0;

  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    const pair = [near, far] as const;
    pairs.add(pair);
    if (tap !== undefined) near.on("data", (bytes: Buffer) => tap(bytes, near));
    const end = (): void => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    forward(near, far, end);
    forward(far, near, end);
  });

  function forward(from: Socket, to: Socket, end: () => void): void {
    const underWay: (() => void)[] = [];
    let lastArrivesAt = 0;

    /** Nothing overtakes what was said before on its connection, whatever the latency was meanwhile. */
    function later(arrive: () => void): void {
      const now = performance.now();
      lastArrivesAt = Math.max(lastArrivesAt, now + proxy.latencyMs);
      if (lastArrivesAt === now && underWay.length === 0) {
        arrive();
        return;
      }
      underWay.push(arrive);
      setTimeout(() => underWay.shift()?.(), lastArrivesAt - now);
    }

    from.setNoDelay(true);
    from.on("error", end);
    from.on("close", () => {
      if (!frozen) later(end);
    });
    from.on("data", (bytes: Buffer) => {
      if (frozen) return;
      passed += bytes.length;
      later(() => {
        if (!frozen && !to.destroyed) to.write(bytes);
      });
    });
  }

  function cut(): number {
    const count = pairs.size;
    for (const pair of pairs) for (const socket of pair) breakOff(socket);
    pairs.clear();
    return count;
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: FaultProxy = {
    port: (server.address() as AddressInfo).port,
    latencyMs: 0,
    cut,
    freeze() {
      frozen = true;
    },
    thaw() {
      cut();
      frozen = false;
    },
    get passed() {
      return passed;
    },
    async close() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

/** A reset of a socket that is saying goodbye is refused below Node, which then keeps it for good, with a loop that never rests. */
function breakOff(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
