import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Dice } from "../simulation/random.ts";
import { SETTINGS } from "./ground.ts";
import { type FaultProxy, startProxy } from "./proxy.ts";

/** What a worker process is told. */
export interface WorkerOrder {
  readonly provider: string;
  readonly name: string;
  readonly queuePort: number;
  readonly storePort: number;
  readonly outsidePort: number;
  /** Its clock is ahead by this, ms. */
  readonly clockOffsetMs: number;
}

/** A worker process, with a network of its own. */
export interface Member {
  readonly name: string;
  readonly toQueue: FaultProxy;
  readonly toStore: FaultProxy;
  /** SIGKILL; a new process takes its place. */
  kill(): Promise<void>;
  /** SIGSTOP. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
}

export interface Fleet {
  readonly members: readonly Member[];
  /** Processes that were killed. */
  readonly deaths: number;
  /** Rejects when a process ends that nobody killed. */
  readonly failed: Promise<never>;
  /** SIGTERM to all; rejects when one does not end in order. */
  stop(): Promise<void>;
}

export interface Ports {
  readonly queue: number;
  readonly store: number;
  readonly outside: number;
}

const SIZE = 3;
const STOP_PATIENCE_MS = 30_000;
/** What was compiled for one process is there for the next. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") };

export async function startFleet(provider: string, ports: Ports, dice: Dice): Promise<Fleet> {
  const running = new Map<string, ChildProcess>();
  let started = 0;
  let deaths = 0;
  let stopping = false;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Raced while the run lasts; after that nobody waits for it.
  failed.catch(() => undefined);

  async function startMember(): Promise<Member> {
    const [toQueue, toStore] = [await startProxy(ports.queue), await startProxy(ports.store)];
    let child: ChildProcess;

    async function start(): Promise<void> {
      const name = `worker-${++started}`;
      const order: WorkerOrder = {
        provider,
        name,
        queuePort: toQueue.port,
        storePort: toStore.port,
        outsidePort: ports.outside,
        clockOffsetMs: dice.int(-SETTINGS.maxOffsetMs, SETTINGS.maxOffsetMs),
      };
      const process_ = fork(new URL("./worker-process.ts", import.meta.url), {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        env: {
          ...COMPILE_CACHE,
          ...process.env,
          METADATA_SERVER_DETECTION: "none",
          CHAOS_WORKER: JSON.stringify(order),
        },
      });
      child = process_;
      running.set(name, process_);
      const ended = new Promise<void>((resolve) => {
        process_.once("exit", (code, signal) => {
          if (running.delete(name) && !stopping) fail(new Error(`${name} ended by itself (${code ?? signal})`));
          resolve();
        });
      });
      await Promise.race([once(process_, "message"), ended]);
    }

    await start();
    return {
      get name() {
        return nameOf(child);
      },
      toQueue,
      toStore,
      async kill() {
        const exited = once(child, "exit");
        running.delete(nameOf(child));
        deaths++;
        child.kill("SIGKILL");
        await exited;
        if (!stopping) await start();
      },
      pause: () => void child.kill("SIGSTOP"),
      resume: () => void child.kill("SIGCONT"),
    };
  }

  function nameOf(child: ChildProcess): string {
    return [...running].find(([, each]) => each === child)?.[0] ?? "a worker that ended";
  }

  /** Whatever ends this process, none is left behind, not even one that is stopped. */
  const killAll = (): void => {
    for (const child of running.values()) child.kill("SIGKILL");
  };
  process.once("exit", killAll);
  const members = await Promise.all(Array.from({ length: SIZE }, startMember));

  return {
    members,
    get deaths() {
      return deaths;
    },
    failed,
    async stop() {
      stopping = true;
      const late: string[] = [];
      await Promise.all(
        [...running].map(async ([name, child]) => {
          const exited = once(child, "exit");
          // A stopped process ends only when it goes on.
          child.kill("SIGCONT");
          child.kill("SIGTERM");
          const enough = setTimeout(() => {
            late.push(name);
            child.kill("SIGKILL");
          }, STOP_PATIENCE_MS);
          await exited;
          clearTimeout(enough);
        }),
      );
      for (const { toQueue, toStore } of members) await Promise.all([toQueue.close(), toStore.close()]);
      process.off("exit", killAll);
      if (late.length > 0) throw new Error(`not stopped within ${STOP_PATIENCE_MS} ms, and killed: ${late.join(", ")}`);
    },
  };
}
