import type { AddressInfo, Server } from "node:net";

/** A port of 127.0.0.1 that can be closed and opened again, as the emulators offer it. */
export interface Port {
  readonly number: number;
  /** Resolves once it is closed and every connection is cut. */
  pause(): Promise<void>;
  /** The same port again. Rejects after `stop`, and when somebody else has taken it meanwhile. */
  resume(): Promise<void>;
  /** For good. */
  stop(): Promise<void>;
}

/**
 * Listens; `wanted` 0: on a free port. Rejects when it is taken. What is asked for while a change is under way comes after it: a
 * port that opens late would stay open after its server's end, and keep the process.
 */
export async function openPort(server: Server, wanted: number, cut: () => void): Promise<Port> {
  let changed = Promise.resolve();
  let isStopped = false;

  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(at, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });

  const shut = (): Promise<void> =>
    new Promise((resolve) => {
      // The callback has an error when the port is closed already, which is what was asked for.
      server.close(() => resolve());
      cut();
    });

  function change(to: () => Promise<void>): Promise<void> {
    const done = changed.then(to);
    changed = done.catch(() => undefined);
    return done;
  }

  await listen(wanted);
  const { port } = server.address() as AddressInfo;
  return {
    number: port,
    pause: () => change(shut),
    resume: () =>
      change(async () => {
        if (isStopped) throw new Error("resume: the server was stopped; start another one");
        if (!server.listening) await listen(port);
      }),
    stop: () =>
      change(async () => {
        isStopped = true;
        await shut();
      }),
  };
}
