import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { startProxy } from "../chaos/proxy.ts";
import { createDice } from "../simulation/random.ts";
import { type Front, fronts } from "./fronts.ts";
import { mutate } from "./mutate.ts";

export interface FuzzReport {
  readonly inputs: number;
  /** Of the server after the first half and after all, once its garbage was collected. */
  readonly half: Usage;
  readonly end: Usage;
}

export interface Usage {
  readonly heapUsed: number;
  /** Sockets, timers and the like. */
  readonly handles: number;
}

/** Connections at a time: most of them only wait. */
const BESIDE = 32;

/**
 * Records what the real SDK says to a server, and says it again in `inputs` wrong ways, on a connection each. Rejects when the
 * server's process ends, or does not serve the SDK any more.
 */
export async function fuzzFront(name: string, inputs: number, seed: number): Promise<FuzzReport> {
  const front = fronts[name] as Front;
  const child = fork(new URL("./front-process.ts", import.meta.url), [name], {
    execArgv: ["--expose-gc"],
    env: { ...process.env, METADATA_SERVER_DETECTION: "none" },
  });
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`the ${name} server ended (${String(code ?? signal)})`);
  });
  // Raced while the run lasts; it is ended on purpose after that.
  ended.catch(() => undefined);
  try {
    const [{ port }] = (await Promise.race([once(child, "message"), ended])) as [{ readonly port: number }];
    const said = await record(front, port);
    const dice = createDice(seed, name);
    const throwSome = async (count: number): Promise<Usage> => {
      for (let thrown = 0; thrown < count; thrown += BESIDE) {
        const batch = Array.from({ length: Math.min(BESIDE, count - thrown) }, () => mutate(said, dice));
        await Promise.race([Promise.all(batch.map((bytes) => throwAt(port, bytes))), ended]);
      }
      await Promise.race([front.converse(port), ended]);
      return Promise.race([usageOf(child), ended]);
    };
    const half = await throwSome(Math.ceil(inputs / 2));
    const end = await throwSome(Math.floor(inputs / 2));
    return { inputs, half, end };
  } finally {
    child.kill();
  }
}

/** What the SDK sends on each connection of one round. */
async function record(front: Front, port: number): Promise<readonly Buffer[]> {
  const said = new Map<Socket, Buffer[]>();
  const proxy = await startProxy(port, (bytes, socket) => {
    const chunks = said.get(socket) ?? [];
    said.set(socket, [...chunks, bytes]);
  });
  try {
    await front.converse(proxy.port);
  } finally {
    await proxy.close();
  }
  return [...said.values()].flatMap((chunks) => [Buffer.concat(chunks), ...chunks]);
}

/** Says it, hears what comes of it, and goes: when the server hangs up, or has nothing more to say. */
function throwAt(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(bytes));
    socket.on("data", () => undefined);
    // Hanging up is a fair answer to nonsense, and so is to wait for the rest of it: we are gone by then.
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
    socket.on("end", () => socket.destroy());
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  });
}

/** A server that waits for the rest of a request is right to do so; nobody waits for it for longer. */
const PATIENCE_MS = 100;

async function usageOf(child: ChildProcess): Promise<Usage> {
  const answered = once(child, "message");
  child.send("usage");
  return ((await answered) as [Usage])[0];
}
