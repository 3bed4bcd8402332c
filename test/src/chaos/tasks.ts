import {
  type CommitContext,
  defineEffect,
  defineTask,
  NotCommittedError,
  PermanentError,
  type TaskContext,
} from "@leasehold/core";
import { z } from "zod";
import type { Entry, System } from "./outside.ts";

/** Short, so that a minute holds many leases. The defaults are 60 s and minutes. */
const pace = {
  lease: "2s",
  // A storm costs many attempts; what is looked at is what they leave behind.
  attempts: 1_000,
  backoff: { base: "100ms", cap: "1s" },
  stages: {
    preflight: { budget: "10s" },
    external_call: { budget: "3s" },
    commit: { budget: "5s" },
    verify: { budget: "10s" },
  },
} as const;

const STEP_MS = 200;
type By = Pick<Entry, "task" | "fence">;

const input = z.object({ name: z.string(), steps: z.int() });

/** The same tasks in every worker; `baseUrl` is the world outside. */
export function createTasks(baseUrl: string) {
  async function call(method: string, path: string, signal: AbortSignal, body?: unknown): Promise<Response> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(new URL(path, baseUrl), { method, signal, ...sent });
  }

  async function write(system: System, key: string, by: By, signal: AbortSignal) {
    const response = await call("POST", `/${system}`, signal, { ...by, key });
    if (response.status === 503) throw new NotCommittedError(`${system} was not to be had`);
    return (await response.json()) as Entry;
  }

  async function find(system: System, key: string, signal: AbortSignal): Promise<Entry | undefined> {
    const response = await call("GET", `/${system}/${encodeURIComponent(key)}`, signal);
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${system} answered ${response.status}`);
    return (await response.json()) as Entry;
  }

  /** The bank and the chat take every call as a new one; only the bank can be searched. */
  const on = (system: System, guard: "idempotent" | "deterministic-id" | "none") =>
    defineEffect({
      name: system,
      externalSystem: system,
      guard,
      commit: ({ idempotencyKey, input: by, signal }: CommitContext<By>) => write(system, idempotencyKey, by, signal),
      find: system === "chat" ? null : ({ idempotencyKey, signal }) => find(system, idempotencyKey, signal),
      verify: (entry: Entry) => ({ externalId: entry.id, status: "there" }),
    });
  const blog = on("blog", "idempotent");
  const tracker = on("tracker", "deterministic-id");
  const bank = on("bank", "none");
  const chat = on("chat", "none");

  /** Says that it runs, and works in steps that it claims. */
  async function work(task: TaskContext<{ readonly steps: number }>): Promise<By> {
    const by = { task: task.id, fence: task.fence };
    await call("POST", "/runs", task.signal, by);
    for (let done = 1; done <= task.input.steps; done++) {
      await task.renew({ stage: "external_call", progress: { done, total: task.input.steps, unit: "steps" } });
      await pause(STEP_MS, task.signal);
    }
    return by;
  }

  const define = (type: string, effects: readonly (typeof blog)[]) =>
    defineTask({
      type,
      input,
      effects,
      ...pace,
      async run(task) {
        const by = await work(task);
        for (const effect of effects) await task.effect(effect, by);
        return { name: task.input.name };
      },
    });

  return [
    define("post", [blog]),
    define("issue", [tracker]),
    define("transfer", [bank]),
    define("message", [chat]),
    define("release", [blog, tracker, bank]),
    define("plain", []),
    defineTask({
      type: "hopeless",
      input,
      ...pace,
      async run(task) {
        await work(task);
        throw new PermanentError("nothing can be done about it");
      },
    }),
  ] as const;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
}
