import {
  type AnyEffect,
  type AnyTask,
  defineEffect,
  defineTask,
  ParkError,
  PermanentError,
  RetryableError,
  type TaskContext,
} from "@leasehold/core";
import { sleep } from "@leasehold/core/driver";
import { z } from "zod";
import { type EndpointKind, type External, type Shown, WINDOW_MS } from "./external.ts";
import type { Host } from "./host.ts";
import type { Program, Step, TaskType } from "./programs.ts";

/** The input of every task: the number of its plan. What its handler does is looked up there. */
export const INPUT = z.object({ n: z.number() });

export const LEASE_MS = 3_000;
export const COMMIT_LEASE_MS = 2_000;
export const BUDGETS_MS = { preflight: 3_000, external_call: 4_000, commit: 4_000, verify: 6_000 } as const;

/** What is told about handlers, by the handlers. */
export interface HandlerObserver {
  handlerStarts(host: Host, task: Pick<TaskContext<unknown>, "id" | "fence" | "signal">): { ends(): void };
  /** `budgetMs`: what the claim buys; 0 for one that buys nothing. */
  claims(host: Host, taskId: string, fence: number, budgetMs: number): void;
}

export interface DefinitionParts {
  readonly host: Host;
  readonly external: External;
  readonly observer: HandlerObserver;
  readonly programOf: (number: number) => Program;
}

interface Endpoint {
  readonly guard: AnyEffect["guard"];
  readonly kind: EndpointKind;
  readonly shared?: true;
  readonly unreadable?: true;
}

export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  publish: { guard: "idempotent", kind: "idempotent" },
  note: { guard: "idempotent", kind: "idempotent" },
  index: { guard: "deterministic-id", kind: "named" },
  charge: { guard: "none", kind: "plain" },
  sms: { guard: "none", kind: "plain", unreadable: true },
  brief: { guard: { kind: "idempotent", windowMs: WINDOW_MS }, kind: "windowed" },
  shared: { guard: "idempotent", kind: "idempotent", shared: true },
};

export function definitionsOf(parts: DefinitionParts): Readonly<Record<TaskType, AnyTask>> {
  const effects = Object.fromEntries(
    Object.entries(ENDPOINTS).map(([name, endpoint]) => [name, effectOf(parts, name, endpoint)]),
  ) as Record<string, AnyEffect>;
  const pick = (...names: string[]): AnyEffect[] => names.map((name) => effects[name] as AnyEffect);
  const task = (type: TaskType, declared: AnyEffect[], more: Partial<AnyTask> = {}): AnyTask =>
    defineTask({
      type,
      input: INPUT,
      effects: declared,
      attempts: 4,
      backoff: { base: 300, cap: 3_000 },
      lease: LEASE_MS,
      maxRun: 40_000,
      stages: {
        preflight: { budget: BUDGETS_MS.preflight },
        external_call: { budget: BUDGETS_MS.external_call },
        commit: { lease: COMMIT_LEASE_MS, budget: BUDGETS_MS.commit },
        verify: { budget: BUDGETS_MS.verify },
      },
      run: (context) => runProgram(parts, effects, context as TaskContext<{ n: number }>),
      ...more,
    });
  return {
    post: task("post", pick("publish", "index"), { receiptFrom: "index" }),
    pay: task("pay", pick("charge", "publish")),
    text: task("text", pick("sms", "index")),
    once: task("once", pick("publish"), { settledBy: "publish" }),
    share: task("share", pick("shared", "publish")),
    plain: task("plain", []),
    window: task("window", pick("brief")),
    strict: task("strict", pick("publish"), { attempts: 2, retry: { preflight: "park", external_call: "park" } }),
  };
}

function effectOf({ host, external }: DefinitionParts, name: string, endpoint: Endpoint): AnyEffect {
  const { guard, kind } = endpoint;
  const call = (key: string, signal: AbortSignal) => ({ endpoint: name, kind, key, signal });
  return defineEffect<{ readonly group?: string }, Shown, Shown>({
    name,
    externalSystem: `system-${name}`,
    guard,
    ...(endpoint.shared === true ? { scope: "global" as const, key: (input) => `shared-${input.group}` } : {}),
    commit: ({ idempotencyKey, signal, fence }) => external.commit(host, { ...call(idempotencyKey, signal), fence }),
    ...(name === "charge" ? { externalId: (answer) => answer.id } : {}),
    find:
      endpoint.unreadable === true
        ? null
        : ({ idempotencyKey, signal }) => external.find(host, call(idempotencyKey, signal)),
    verify: (shown) => shown.ready && { externalId: shown.id, status: "done" },
  });
}

async function runProgram(
  parts: DefinitionParts,
  effects: Record<string, AnyEffect>,
  task: TaskContext<{ n: number }>,
): Promise<unknown> {
  const run = parts.observer.handlerStarts(parts.host, task);
  try {
    const program = parts.programOf(task.input.n);
    for (const step of program.steps) await take(parts, effects, task, step);
    return program.resultBytes === 0 ? undefined : "r".repeat(program.resultBytes);
  } finally {
    run.ends();
  }
}

async function take(
  parts: DefinitionParts,
  effects: Record<string, AnyEffect>,
  task: TaskContext<{ n: number }>,
  step: Step,
): Promise<void> {
  const { host, observer } = parts;
  const { clock } = host;
  const claimed = (budgetMs: number): void => observer.claims(host, task.id, task.fence, budgetMs);
  const effect = (name: string, item?: string) =>
    task.effect(effects[name] as AnyEffect, { group: "all" }, item === undefined ? {} : { item });
  switch (step.do) {
    case "wait":
      return sleep(clock, step.ms, step.heeds ? task.signal : undefined);
    case "claim":
      claimed(step.budgetMs);
      return task.renew({
        stage: step.stage,
        // Equal claims buy no time, and `repeat` plays them: another budget is another claim.
        reason: `rendering draft ${task.input.n}, ${step.budgetMs} ms to go`,
        budget: step.budgetMs,
        ...(step.unguarded && step.stage === "external_call" ? { guard: "none" as const } : {}),
      });
    case "vague":
      return task.renew({ stage: "external_call", reason: "still running" });
    case "repeat":
      for (let time = 0; time < step.times; time++) {
        if (time === 0) claimed(BUDGETS_MS.external_call);
        await task.renew({ stage: "external_call", reason: "waiting for the model's batch" });
        await sleep(clock, step.everyMs, task.signal);
      }
      return;
    case "progress":
      for (let done = 1; done <= step.times; done++) {
        claimed(step.budgetMs);
        await task.renew({ stage: "external_call", progress: { done, total: step.times }, budget: step.budgetMs });
        await sleep(clock, step.everyMs, task.signal);
      }
      return;
    case "effect":
      try {
        await effect(step.name, step.item);
      } catch (error) {
        if (!step.catches) throw error;
      }
      return;
    case "both": {
      const [first, second] = step.names;
      await Promise.all([effect(first), effect(second)]);
      return;
    }
    case "hang":
      if (task.attempt > step.until) return;
      // One that does not heed its signal comes back long after its lease.
      await sleep(clock, 25_000, step.heeds ? task.signal : undefined);
      return;
    case "throw":
      if (task.attempt > step.until) return;
      throw errorOf(step.verdict);
  }
}

function errorOf(verdict: "retryable" | "permanent" | "park" | "unknown"): Error {
  switch (verdict) {
    case "retryable":
      return new RetryableError("try again", { retryAfterMs: 700 });
    case "permanent":
      return new PermanentError("no use");
    case "park":
      return new ParkError("a person must look");
    case "unknown":
      return new TypeError("x is not a function");
  }
}
