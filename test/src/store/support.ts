import assert from "node:assert/strict";
import type { EffectState } from "@leasehold/core";
import {
  createTaskStore,
  formatTime,
  type Item,
  parseTime,
  type Receipt,
  type TaskRecord,
  type TaskStore,
} from "@leasehold/core/driver";
import type { StoreHarness } from "./harness.ts";

export type NewTask = Parameters<TaskStore["create"]>[0];
export type AcquireRequest = Parameters<TaskStore["acquire"]>[0];
type AcquireOutcome = Awaited<ReturnType<TaskStore["acquire"]>>;
export type HolderWrite = Omit<Parameters<TaskStore["renew"]>[0], "leaseMs">;
type HolderAnswer = Awaited<ReturnType<TaskStore["settle"]>>;

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const DAY_MS = 24 * 60 * MINUTE_MS;
/** When the cases happen. */
export const START_MS = parseTime("2026-01-31T12:00:00.000Z");
export const LEASE_MS = 60 * SECOND_MS;
export const SKEW_MS = 2 * SECOND_MS;
export const RECOVER_MS = 5 * MINUTE_MS;
export const RETENTION_MS = 45 * DAY_MS;

/** A moment of the case, `ms` after its start. */
export function at(ms: number): number {
  return START_MS + ms;
}

/** As {@link at}, as it is stored. */
export function timeAt(ms: number): string {
  return formatTime(START_MS + ms);
}

/** One task of a case, and the requests about it with their usual values. */
export interface Scene {
  readonly taskId: string;
  readonly queue: string;
  newTask(more?: Partial<NewTask>): NewTask;
  acquireRequest(more?: Partial<AcquireRequest>): AcquireRequest;
  /** Creates the task at the start of the case. */
  create(more?: Partial<NewTask>): Promise<TaskRecord>;
  /** Acquires it, which must succeed. */
  acquire(more?: Partial<AcquireRequest>): Promise<Held>;
  /** The record, which must be there. */
  record(): Promise<TaskRecord>;
  /** The record's item, as it is stored. */
  item(): Promise<Item>;
  payloadItem(): Promise<Item | undefined>;
  /** Changes the stored record as only another version, or time, would: past all rules. */
  tamper(set: Item): Promise<void>;
}

/** A lease that a case holds. */
export interface Held {
  readonly token: string;
  readonly record: TaskRecord;
  readonly answer: Extract<AcquireOutcome, { outcome: "acquired" }>;
  /** The frame of this lease's next write, a second after the last. */
  next(more?: Partial<HolderWrite>): HolderWrite;
}

export function createScene(harness: StoreHarness): Scene {
  const taskId = harness.unique("task");
  const queue = harness.unique("queue");
  const key = `task#${taskId}`;
  const scene: Scene = {
    taskId,
    queue,
    newTask: (more = {}) => ({
      taskId,
      queue,
      type: "publish_post",
      input: '{"draft":1}',
      inputHash: "hash-1",
      idempotencyKey: `${taskId}-key`,
      at: START_MS,
      recoverAfterMs: RECOVER_MS,
      retentionMs: RETENTION_MS,
      token: harness.unique("create"),
      ...more,
    }),
    acquireRequest: (more = {}) => ({
      taskId,
      owner: "worker-a",
      token: harness.unique("lease"),
      at: at(SECOND_MS),
      leaseMs: LEASE_MS,
      maxClockSkewMs: SKEW_MS,
      ...more,
    }),
    async create(more) {
      const answer = await harness.store.create(scene.newTask(more));
      assert.equal(answer.outcome, "created");
      return answer.record;
    },
    async acquire(more) {
      const request = scene.acquireRequest(more);
      const answer = await harness.store.acquire(request);
      assert.ok(answer.outcome === "acquired", `expected the lease, got ${outcomeOf(answer)}`);
      return held(taskId, request.token, request.at, answer);
    },
    async record() {
      const record = await harness.store.get(taskId);
      assert.ok(record !== undefined, "the record is there");
      return record;
    },
    async item() {
      const item = await harness.items.get(key);
      assert.ok(item !== undefined, "the record is there");
      return item;
    },
    payloadItem: async () => harness.items.get((await scene.record()).payload_ref),
    async tamper(set) {
      const answer = await harness.items.update(key, { set }, { exists: "task_id" });
      assert.ok(answer.applied);
    },
  };
  return scene;
}

function held(taskId: string, token: string, from: number, answer: Held["answer"]): Held {
  let seq = 0;
  return {
    token,
    record: answer.record,
    answer,
    next(more = {}) {
      seq += 1;
      return { taskId, token, seq, at: from + seq * SECOND_MS, ...more };
    },
  };
}

/** A task that is created and leased. */
export async function leased(harness: StoreHarness): Promise<{ readonly scene: Scene; readonly lease: Held }> {
  const scene = createScene(harness);
  await scene.create();
  return { scene, lease: await scene.acquire() };
}

export function receiptOf(taskId: string, more: Partial<Receipt> = {}): Receipt {
  return {
    task_id: taskId,
    stage: "verify",
    external_system: "wordpress",
    external_id: "2451",
    status: "publish",
    idempotency_key: `${taskId}-key:publish`,
    verified_at: timeAt(3 * SECOND_MS),
    ...more,
  };
}

function outcomeOf(answer: AcquireOutcome): string {
  return "record" in answer ? `${answer.outcome}, status ${answer.record.status}` : answer.outcome;
}

/** The record of a write that must have landed. */
export function written(answer: HolderAnswer | Awaited<ReturnType<TaskStore["resume"]>>): TaskRecord {
  assert.ok(answer.outcome === "written", `expected the write to land, got ${answer.outcome}`);
  return answer.record;
}

/** An effect as a worker begins it. */
export function effect(more: Partial<EffectState> = {}): EffectState {
  return {
    key: "task-key:publish",
    guard: "idempotent",
    state: "started",
    begun_at: timeAt(2 * SECOND_MS),
    first_begun_at: timeAt(2 * SECOND_MS),
    fence: 1,
    begins: 1,
    external_system: "wordpress",
    ...more,
  };
}

/** The part of a holder's state that is about effects. */
export function effectsState(
  effects: Readonly<Record<string, EffectState>>,
): Pick<NonNullable<HolderWrite["state"]>, "effects" | "open_effects"> {
  const open = Object.values(effects).filter(({ state }) => state === "started" || state === "committed");
  return { effects, open_effects: open.length };
}

/** Insists that the call is refused as a mistake, naming the field. */
export async function expectInvalid(call: Promise<unknown>, field: RegExp): Promise<void> {
  await assert.rejects(call, (error: { code?: unknown; message?: unknown }) => {
    assert.equal(error.code, "InvalidArgument", String(error.message));
    assert.match(String(error.message), field);
    return true;
  });
}

/** Asks until it holds, as long as the target's indexes may lag. */
export async function eventually<T>(
  harness: StoreHarness,
  ask: () => Promise<T>,
  holds: (answer: T) => boolean,
): Promise<T> {
  const stepMs = Math.max(harness.toleranceMs / 20, 1);
  for (let waitedMs = 0; ; waitedMs += stepMs) {
    const answer = await ask();
    if (holds(answer) || waitedMs >= harness.toleranceMs) {
      assert.ok(holds(answer), `got ${JSON.stringify(answer)}`);
      return answer;
    }
    await harness.wait(stepMs);
  }
}

/** Insists that the task is not acquired, and that nothing is changed. */
export async function expectNotAcquired(
  harness: StoreHarness,
  scene: Scene,
  more: Parameters<Scene["acquireRequest"]>[0] = {},
): Promise<void> {
  const before = await scene.record();
  const answer = await harness.store.acquire(scene.acquireRequest(more));
  assert.deepEqual(answer, { outcome: "refused", record: before });
  assert.deepEqual(await scene.record(), before, "nothing was changed");
}

/** Epoch seconds of a moment that long after the first write of a lease of {@link leased}. */
export function secondsAfterEnd(ms: number): number {
  return (START_MS + 2 * SECOND_MS + ms) / SECOND_MS;
}

/** A record without some of its fields. */
export function without(record: TaskRecord, ...fields: readonly (keyof TaskRecord)[]): Partial<TaskRecord> {
  return Object.fromEntries(Object.entries(record).filter(([field]) => !fields.includes(field)));
}

/** A store on the same items that is slow: between the answer of its first call of this name and its next step, something happens. */
export function storeThatIsOvertaken(
  harness: StoreHarness,
  call: "get" | "query",
  meanwhile: () => Promise<unknown>,
): TaskStore {
  let done = false;
  const then = async <T>(answer: Promise<T>): Promise<T> => {
    const value = await answer;
    if (!done) {
      done = true;
      await meanwhile();
    }
    return value;
  };
  const { items } = harness;
  return createTaskStore({
    items:
      call === "get"
        ? { ...items, get: (key) => then(items.get(key)) }
        : { ...items, query: (query) => then(items.query(query)) },
  });
}
