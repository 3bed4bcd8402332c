import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CountKind } from "./counts.ts";
import { REPLACED_AFTER_MS, SIZE } from "./fleet.ts";

/** Workers that are processes of their own. One that is killed is replaced, as a supervisor would. */
export interface WorkerProcesses {
  /** How many were killed. */
  readonly deaths: number;
  /** Rejects when a worker ends by itself. */
  readonly failed: Promise<never>;
  /** Calls back with what a worker counted. */
  onCount(listener: CountListener): void;
  /** Does it run? */
  has(name: string): boolean;
  /** SIGKILL; resolves when it is gone. */
  kill(name: string): Promise<void>;
  /** SIGSTOP: nothing in it runs any more, and it knows nothing of that. */
  pause(name: string): void;
  /** SIGCONT. */
  continue(name: string): void;
  /** SIGTERM: those that live stop in order. Rejects when one does not, and had to be killed. */
  stop(): Promise<void>;
}

type CountListener = (worker: string, kind: CountKind, what: string) => void;

/** A worker takes 5 s to stop at most, ms. */
const STOP_PATIENCE_MS = 30_000;

/** What was compiled for one worker is there for the next: it starts in a third of the time. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") };

/** What worker-process.ts tells. */
type Report = { readonly ready: true } | { readonly kind: CountKind; readonly what: string };

/** Resolves when all are at work. `environment`: what they find in theirs beside that of this process. */
export async function startWorkers(environment: Readonly<Record<string, string>>): Promise<WorkerProcesses> {
  const listeners: CountListener[] = [];
  const running = new Map<string, ChildProcess>();
  const replacements = new Set<NodeJS.Timeout>();
  let started = 0;
  let deaths = 0;
  let stopping = false;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  // Raced by the demo while it runs; after that nobody waits for it.
  failed.catch(() => undefined);

  /** Resolves when it is at work, or has ended. */
  async function start(): Promise<void> {
    started += 1;
    const name = `worker-${started}`;
    const child = fork(new URL("./worker-process.ts", import.meta.url), {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env: { ...COMPILE_CACHE, ...process.env, ...environment, WORKER_NAME: name },
    });
    running.set(name, child);
    // What was on its way to a process that is gone.
    child.on("error", (error) => running.has(name) && fail(error));
    await new Promise<void>((resolve) => {
      child.on("message", (report: Report) => {
        if ("ready" in report) resolve();
        else for (const listener of listeners) listener(name, report.kind, report.what);
      });
      child.once("exit", (code, signal) => {
        // One that was killed on purpose is no longer among those that run.
        if (running.delete(name) && !stopping) fail(new Error(`${name} ended by itself (${code ?? signal})`));
        resolve();
      });
    });
  }

  function named(name: string): ChildProcess {
    const child = running.get(name);
    if (child === undefined) throw new Error(`there is no ${name} that runs`);
    return child;
  }

  /** Also one that is stopped ends by it; whatever ends this process, none is left behind. */
  const killAll = (): void => {
    for (const child of running.values()) child.kill("SIGKILL");
  };
  process.once("exit", killAll);

  await Promise.race([Promise.all(Array.from({ length: SIZE }, start)), failed]);
  return {
    get deaths() {
      return deaths;
    },
    failed,
    onCount: (listener) => void listeners.push(listener),
    has: (name) => running.has(name),
    async kill(name) {
      const child = named(name);
      const exited = once(child, "exit");
      running.delete(name);
      deaths += 1;
      child.kill("SIGKILL");
      await exited;
      const timer = setTimeout(() => {
        replacements.delete(timer);
        if (!stopping) start().catch(fail);
      }, REPLACED_AFTER_MS);
      replacements.add(timer);
    },
    pause: (name) => void named(name).kill("SIGSTOP"),
    continue: (name) => void named(name).kill("SIGCONT"),
    async stop() {
      stopping = true;
      for (const timer of replacements) clearTimeout(timer);
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
      process.off("exit", killAll);
      if (late.length > 0) throw new Error(`not stopped within ${STOP_PATIENCE_MS} ms, and killed: ${late.join(", ")}`);
    },
  };
}
