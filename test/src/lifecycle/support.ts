import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { defineTask, LeaseholdError, type TaskContext, type TaskDefinition, type TaskRecord } from "@leasehold/core";
import {
  type Delivery,
  EVENT_CONTENT_TYPE,
  encodeEnvelope,
  ownSource,
  type SettleItem,
  type TaskEvent,
} from "@leasehold/core/driver";
import { z } from "zod";
import type { Ability, FaultRule, LifecycleHarness, PlayedClient, PlayedProcess, World } from "./harness.ts";
import type { EndpointKind } from "./system.ts";

export const INPUT = z.object({ n: z.number() });
type InputSchema = typeof INPUT;
export type TestTask = TaskDefinition<InputSchema, unknown>;
export type Context = TaskContext<z.output<InputSchema>>;

/** A task type with the lease and the back-off of the target. */
export function taskOf(world: World, definition: Partial<TestTask> & Pick<TestTask, "run">): TestTask {
  const { leaseMs, backoff } = world.timing;
  return defineTask({ type: "publish_post", input: INPUT, lease: leaseMs, backoff, ...definition });
}

/** A task whose runs are counted. */
export function counted(
  world: World,
  run: TestTask["run"] = () => "done",
): { readonly task: TestTask; readonly runs: () => number } {
  let runs = 0;
  const task = taskOf(world, {
    run(context) {
      runs += 1;
      return run(context);
    },
  });
  return { task, runs: () => runs };
}

/** Enqueues one, and answers its id. */
export async function enqueue(
  world: World,
  client: PlayedClient,
  task: TestTask,
  options: Parameters<PlayedClient["client"]["enqueue"]>[2] = {},
): Promise<string> {
  const { task: record } = await world.until(client.client.enqueue(task, { n: 1 }, { key: "one", ...options }));
  return record.task_id;
}

/** What a record says, in the shape that cases state it. */
export interface Facts {
  readonly status: TaskRecord["status"];
  readonly stage: TaskRecord["stage"];
  readonly attempt: number;
  readonly attempts_total: number;
  readonly fence: number;
  /** State by effect. */
  readonly effects: Readonly<Record<string, string>>;
  /** External id by effect. */
  readonly receipts: Readonly<Record<string, string>>;
  readonly open: number;
  /** Code of the end reason. */
  readonly code: string | undefined;
  /** External system and id of the task's receipt. */
  readonly receipt: readonly [system: string, id: string] | undefined;
  /** Stage and reason of the last claims. */
  readonly claims: readonly (readonly [stage: string, reason: string])[];
  /** How the attempts ended, with the stage where they stopped. */
  readonly log: readonly (readonly [how: string, stage: string])[];
}

export function factsOf(record: TaskRecord): Facts {
  const {
    status,
    stage,
    attempt,
    attempts_total,
    fence,
    open_effects,
    end_reason,
    settlement_receipt: receipt,
  } = record;
  const effects = Object.entries(record.effects);
  return {
    status,
    stage,
    attempt,
    attempts_total,
    fence,
    effects: Object.fromEntries(effects.map(([slot, effect]) => [slot, effect.state])),
    receipts: Object.fromEntries(
      effects.flatMap(([slot, effect]) => (effect.receipt === undefined ? [] : [[slot, effect.receipt.external_id]])),
    ),
    open: open_effects,
    code: end_reason?.split(":")[0],
    receipt: receipt === undefined ? undefined : [receipt.external_system, receipt.external_id],
    claims: record.last_claims.map((claim) => [claim.stage, claim.reason]),
    log: record.attempts.map((entry) => [entry.how, entry.stage]),
  };
}

/** The record says exactly this, as far as this goes. */
export function expectFacts(record: TaskRecord, expected: Partial<Facts>): void {
  const facts = factsOf(record);
  const wrong = Object.entries(expected).flatMap(([name, value]) => {
    const got = facts[name as keyof Facts];
    return isDeepStrictEqual(got, value)
      ? []
      : [`${name}: got ${JSON.stringify(got)}, expected ${JSON.stringify(value)}`];
  });
  if (wrong.length > 0)
    assert.fail(`${wrong.join("; ")} (end_reason: ${record.end_reason}, last_error: ${record.last_error})`);
}

/** What a task that made its one effect looks like at its end. */
export const SETTLED: Partial<Facts> = {
  status: "settled",
  stage: "settled",
  effects: { publish: "verified" },
  receipts: { publish: "thing-1" },
  receipt: ["blog", "thing-1"],
  open: 0,
};

/** The queue keeps nothing of anybody. */
export async function expectQueueEmpty(world: World): Promise<void> {
  await world.until(async () => {
    const { visible, leased, delayed } = await world.broker.counts();
    return visible + leased + delayed === 0;
  });
}

/** Calls of a process by name, `queue.receive` left out: how many polls there are says nothing. */
export function countsOf(process: PlayedProcess, since = 0): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { name, operation } of process.calls.slice(since)) {
    if (name === "queue.receive" || name === "queue.countVisible" || name === "store.dueForCheck") continue;
    const label = operation === undefined ? name : `${name} ${operation}`;
    counts[label] = (counts[label] ?? 0) + 1;
  }
  return counts;
}

/** A promise that a handler awaits until the case lets it go on. */
export interface Gate {
  readonly open: () => void;
  readonly passed: Promise<void>;
  /** Somebody waits at it, or has passed. */
  readonly reached: () => boolean;
  wait(): Promise<void>;
}
export function gate(): Gate {
  let open: () => void = () => undefined;
  let reached = false;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    open: () => open(),
    passed,
    reached: () => reached,
    async wait() {
      reached = true;
      await passed;
    },
  };
}

/** Resolves when the signal aborts, with the typed reason. */
export function aborted(signal: AbortSignal): Promise<string> {
  const reason = (): string => (signal.reason as { readonly details: { readonly reason: string } }).details.reason;
  if (signal.aborted) return Promise.resolve(reason());
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(reason()), { once: true }));
}

/** Why a case cannot run on this target: a declared difference. */
export function unlessAble(...abilities: readonly Ability[]): (harness: LifecycleHarness) => string | undefined {
  return (harness) => abilities.map((ability) => harness.cannot[ability]).find((reason) => reason !== undefined);
}

/** What a call to something unreachable throws. */
export const UNREACHABLE = new LeaseholdError("Unavailable", "played: not reachable");
/** The worker acquires once; later deliveries find no store, until it heals. */
export const ONE_ATTEMPT: readonly FaultRule[] = [
  { on: "store.acquire", fault: { error: UNREACHABLE }, skip: 1, times: Number.POSITIVE_INFINITY },
];

/** The first attempt has ended, however. */
export const ENDED_ONCE = (record: TaskRecord): boolean => record.fence > 0 && record.status !== "leased";

/** A handler, or a part of one, that throws. */
export function raise(error: Error): () => never {
  return () => {
    throw error;
  };
}

/** A task that makes one effect and returns its receipt. */
export function publishing(
  world: World,
  kind: EndpointKind,
  options: Parameters<World["system"]["effect"]>[1] = {},
): TestTask {
  const publish = world.system.effect(kind, options);
  return taskOf(world, { effects: [publish], run: (context) => context.effect(publish, { html: "x" }) });
}

/** How often the system was asked to make something, and to show it. */
export const commits = (world: World): number => world.system.calls.filter((call) => call === "commit").length;
export const finds = (world: World): number => world.system.calls.filter((call) => call === "find").length;

/** An effect whose outcome nobody knows. */
export const STARTED = { stage: "commit", effects: { publish: "started" }, open: 1 } as const;

/** Codes of the dead letters: as the broker keeps them or, where it keeps none, of the dead-lettered records. */
export async function deadLetterCodes(world: World): Promise<readonly (string | undefined)[]> {
  const { deadLetters, capabilities } = world.queue;
  if (deadLetters !== undefined) {
    const letters = await world.until(deadLetters.look({ max: capabilities.maxBatch, leaseMs: world.timing.leaseMs }));
    return letters.map(({ reason }) => reason?.code).sort();
  }
  const { items } = await world.until(world.store.listByStatus("dead_lettered"));
  return items.map((record) => record.end_reason?.split(":")[0]).sort();
}

/** Puts an event into the queue, as any producer may. */
export async function sendEvent(world: World, event: TaskEvent, orderingKey?: string): Promise<void> {
  // An id of its own: a queue may drop a message whose id came before.
  const message = { id: `${event.id}.${randomUUID()}`, body: encodeEnvelope(event), contentType: EVENT_CONTENT_TYPE };
  const [outcome] = await world.until(
    world.queue.send([{ ...message, ...(orderingKey !== undefined && { orderingKey }) }]),
  );
  assert.equal(outcome?.status, "confirmed");
}

/** One more message about a task: "look at it". */
export async function ring(world: World, taskId: string): Promise<void> {
  const { task_type, input_hash, created_at, ordering_key } = await world.record(taskId);
  const event = {
    id: taskId,
    source: ownSource(world.queue.queue),
    type: task_type,
    time: created_at,
    dataref: input_hash,
  };
  await sendEvent(world, event, ordering_key);
}

/** What a process has given back or put away, in order. */
function abandonsOf(process: PlayedProcess): readonly Extract<SettleItem, { readonly verb: "abandon" }>[] {
  return process.calls.flatMap(({ name, args }) => {
    const items = name.startsWith("queue.") && Array.isArray(args[0]) ? (args[0] as readonly SettleItem[]) : [];
    return items.flatMap((item) => (item.verb === "abandon" ? [item] : []));
  });
}

/** The delays (ms) with which a process has put deliveries away. */
export function abandonDelays(process: PlayedProcess): readonly number[] {
  return abandonsOf(process).map(({ delayMs }) => delayMs);
}

export function abandonedDeliveries(process: PlayedProcess): readonly Delivery[] {
  return abandonsOf(process).map(({ delivery }) => delivery);
}
