import { createClient, type TaskRecord } from "@leasehold/core";
import { createDynamoStore, createTable } from "@leasehold/dynamodb";
import { type BrokerActs, type Emulator, startDynamodb } from "@leasehold/emulators";
import { createDice, type Dice } from "../simulation/random.ts";
import { startFleet } from "./fleet.ts";
import { awsConfigOf, SETTINGS } from "./ground.ts";
import { type Evidence, type Finding, isOver, judge } from "./judge.ts";
import { type Outside, type OutsideFault, startOutside } from "./outside.ts";
import { type ChaosProvider, providers } from "./providers.ts";
import { pause, STORM_KINDS, type StormKind, storm } from "./storm.ts";
import { createTasks } from "./tasks.ts";

export interface ChaosOptions {
  readonly provider: string;
  /** How long things go wrong, ms. */
  readonly stormMs: number;
  readonly seed: number;
}

export interface ChaosReport {
  readonly findings: readonly Finding[];
  readonly storm: ReadonlyMap<StormKind, number>;
  readonly outside: Readonly<Record<OutsideFault, number>>;
  readonly tasks: number;
  readonly byStatus: ReadonlyMap<string, number>;
  /** Attempts beyond the first. */
  readonly retries: number;
  /** Handlers that began. */
  readonly runs: number;
  /** Things that were made outside. */
  readonly made: number;
  readonly deaths: number;
  /** Attempts by how they ended, of the last ten of each task: what the storm came to. */
  readonly byHow: ReadonlyMap<string, number>;
  /** Messages that were there still when all tasks had ended: repeats, and those whose settle was lost. */
  readonly repeats: number;
}

/** A task every so often, ms; three processes of eight slots do about forty in a second when nothing is wrong. */
const ENQUEUE_EVERY_MS = [20, 180] as const;
/** After the storm everything that is left ends within this. */
const CALM_MS = 180_000;
/** And within this each message that outlived its task is completed, once its lease or delay is over. */
const SWEEP_MS = 60_000;
const SWEEP_EVERY_MS = 2_000;

/** Runs a storm over worker processes, and judges what it left behind. Rejects when something ends that should not. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const provider = providers[options.provider] as ChaosProvider;
  const dice = (name: string): Dice => createDice(options.seed, name);
  const [broker, store, outside] = [await provider.start(), await startDynamodb(), await startOutside(dice("outside"))];
  try {
    await createTable({ table: SETTINGS.name, config: awsConfigOf(portOf(store)) });
    const ports = { queue: portOf(broker), store: portOf(store), outside: outside.port };
    const fleet = await startFleet(options.provider, ports, dice("fleet"));
    const counts = new Map<StormKind, number>(STORM_KINDS.map((kind) => [kind, 0]));
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), options.stormMs);
    const watched = await watchTasks(provider, ports, dice("tasks"));
    try {
      const blowing = storm(
        {
          fleet,
          broker,
          acts: broker.acts(SETTINGS.name),
          store,
          throttled: provider.throttled,
          dice: dice("storm"),
          happened: (kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1),
        },
        ending.signal,
      );
      await Promise.race([Promise.all([blowing, watched.enqueue(ending.signal)]), fleet.failed]);
      outside.calm();
      await Promise.race([watched.calm(), fleet.failed]);
      const swept = await Promise.race([sweep(broker.acts(SETTINGS.name)), fleet.failed]);
      await fleet.stop();
      await watched.last();
      return reportOf(watched, outside, counts, fleet.deaths, swept);
    } finally {
      ending.abort();
      clearTimeout(timer);
      await watched.close();
    }
  } finally {
    await Promise.all([broker.stop(), store.stop(), outside.close()]);
  }
}

interface Swept {
  readonly repeats: number;
  readonly left: number;
}

/** All tasks have ended: every message is delivered once more, so that somebody who takes it for work is seen, and is completed then. */
async function sweep(acts: BrokerActs): Promise<Swept> {
  const never = new AbortController().signal;
  const repeats = acts.messageIds().length;
  for (const end = performance.now() + SWEEP_MS; performance.now() < end && acts.messageIds().length > 0; ) {
    for (const id of acts.messageIds()) acts.expire(id);
    await pause(SWEEP_EVERY_MS, never);
  }
  return { repeats, left: acts.messageIds().length };
}

type Watching = Pick<Evidence, "tasks" | "seenSettled" | "seenReceipts">;

interface Watched extends Watching {
  enqueue(signal: AbortSignal): Promise<void>;
  /** Resolves when all have ended, or when they have had time enough. */
  calm(): Promise<void>;
  /** Looks at each once more, also at those that had ended. */
  last(): Promise<void>;
  close(): Promise<void>;
}

/** The client's side, without proxies: what it was told stands in the store. */
async function watchTasks(
  provider: ChaosProvider,
  ports: { queue: number; store: number },
  dice: Dice,
): Promise<Watched> {
  const queue = provider.openQueue(ports.queue);
  const store = createDynamoStore({ table: SETTINGS.name, config: awsConfigOf(ports.store) });
  const client = createClient({ queue, store, recoverAfter: SETTINGS.recoverAfterMs, retryFor: "60s" });
  const definitions = createTasks("http://127.0.0.1:1");
  const tasks = new Map<string, TaskRecord | undefined>();
  const seenSettled = new Map<string, TaskRecord>();
  const seenReceipts = new Map<string, Map<string, string>>();

  function note(taskId: string, record: TaskRecord | undefined): void {
    tasks.set(taskId, record);
    if (record?.status === "settled" && !seenSettled.has(taskId)) seenSettled.set(taskId, record);
    const receipts = seenReceipts.get(taskId) ?? new Map<string, string>();
    seenReceipts.set(taskId, receipts);
    for (const [name, { receipt }] of Object.entries(record?.effects ?? {})) {
      if (receipt !== undefined && !receipts.has(name)) receipts.set(name, JSON.stringify(receipt));
    }
  }

  async function look(): Promise<number> {
    let left = 0;
    for (const [taskId, before] of tasks) {
      if (isOver(before)) continue;
      const record = await client.get(taskId);
      note(taskId, record);
      if (!isOver(record)) left++;
    }
    return left;
  }

  return {
    tasks,
    seenSettled,
    seenReceipts,
    async enqueue(signal) {
      for (let number = 1; !signal.aborted; number++) {
        const definition = dice.pick(definitions);
        const input = {
          name: `${definition.type} ${number}`,
          steps: dice.chance(0.2) ? dice.int(8, 20) : dice.int(0, 2),
        };
        const { task } = await client.enqueue(definition, input, { key: `key-${number}` });
        tasks.set(task.task_id, task);
        await pause(dice.int(...ENQUEUE_EVERY_MS), signal);
        if (number % 50 === 0) await look();
      }
    },
    async calm() {
      const never = new AbortController().signal;
      const end = performance.now() + CALM_MS;
      while ((await look()) > 0 && performance.now() < end) await pause(500, never);
    },
    async last() {
      for (const taskId of tasks.keys()) note(taskId, await client.get(taskId));
    },
    async close() {
      await queue.close();
      await store.close();
    },
  };
}

function reportOf(
  watched: Watched,
  outside: Outside,
  counts: ReadonlyMap<StormKind, number>,
  deaths: number,
  { repeats, left }: Swept,
): ChaosReport {
  const records = [...watched.tasks.values()];
  const { tasks, seenSettled, seenReceipts } = watched;
  return {
    findings: judge({ outside, tasks, seenSettled, seenReceipts, messagesLeft: left }),
    storm: counts,
    outside: outside.faults,
    tasks: records.length,
    byStatus: countsOf(records.map((record) => record?.status ?? "gone")),
    byHow: countsOf(records.flatMap((record) => (record?.attempts ?? []).map(({ how }) => how))),
    repeats,
    retries: records.reduce((sum, record) => sum + Math.max((record?.attempts_total ?? 0) - 1, 0), 0),
    runs: outside.runs.length,
    made: outside.entries.length,
    deaths,
  };
}

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));
}

function portOf({ endpoint }: Emulator): number {
  return Number(/:(\d+)$/.exec(endpoint)?.[1]);
}
