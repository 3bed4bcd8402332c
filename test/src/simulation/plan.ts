import type { QueueSettings } from "@leasehold/core/memory";
import { ACTS, type ActKind, CALL_FAULTS, DELIVERY_FAULTS, type Rates, SYSTEM_FAULTS } from "./faults.ts";
import { type Program, programOf, TASK_TYPES, type TaskType } from "./programs.ts";
import { createDice, type Dice } from "./random.ts";

/** Everything about a run that is decided before it begins. The same seed gives the same plan. */
export interface Plan {
  readonly seed: number;
  readonly workers: number;
  /** How many go on once the faults have stopped. */
  readonly healthyWorkers: number;
  readonly concurrency: number;
  /** Wall offsets of the processes are within half of it of the true time, ms. */
  readonly skewMs: number;
  /** The skew is within what the workers were promised: all invariants hold. */
  readonly skewInBounds: boolean;
  /** How far away from store and queue those are who enqueue and decide, ms each way, at most. */
  readonly peopleDistanceMs: number;
  readonly queue: Partial<QueueSettings>;
  readonly rates: Rates;
  readonly tasks: readonly PlannedTask[];
  readonly acts: readonly Act[];
  /** When faults stop, ms from the start. */
  readonly chaosMs: number;
  /** When recovery looks at a task, ms after its message was sent. */
  readonly recoverAfterMs: number;
  /** Wait at the end until the broker has nothing left. */
  readonly drains: boolean;
}

export interface PlannedTask {
  readonly number: number;
  readonly type: TaskType;
  readonly program: Program;
  readonly atMs: number;
  readonly delayMs?: number;
  readonly deadlineMs?: number;
  readonly orderingKey?: string;
  /** A foreign producer: sends the event and writes no record. */
  readonly foreign?: true;
}

export interface Act {
  readonly id: string;
  readonly kind: ActKind;
  readonly atMs: number;
  /** Chooses a process, a task, a message. */
  readonly which: number;
  /** How much of it, 0 to 1. */
  readonly size: number;
}

export const MAX_CLOCK_SKEW_MS = 2_000;
const WIDE_SKEW_MS = 5_000;

export function planOf(seed: number): Plan {
  const dice = createDice(seed, "plan");
  const skewInBounds = !dice.chance(0.12);
  const keyed = dice.chance(0.15);
  const chaosMs = dice.int(15_000, 45_000);
  return {
    seed,
    workers: dice.int(2, 3),
    healthyWorkers: dice.chance(0.8) ? 1 : 2,
    concurrency: dice.int(1, 3),
    skewMs: skewInBounds ? dice.pick([0, 500, MAX_CLOCK_SKEW_MS]) : WIDE_SKEW_MS,
    skewInBounds,
    peopleDistanceMs: dice.pick([8, 900]),
    queue: queueOf(dice, keyed),
    rates: ratesOf(dice),
    tasks: tasksOf(seed, dice, keyed, chaosMs),
    acts: actsOf(dice, chaosMs),
    chaosMs,
    // Runs with ordering keys wait for hours; fewer looks keep them cheap.
    recoverAfterMs: keyed ? 120_000 : 30_000,
    drains: dice.chance(0.05),
  };
}

function queueOf(dice: Dice, keyed: boolean): Partial<QueueSettings> {
  const lies: Partial<QueueSettings> = {
    settleConfirmation: dice.pick(["confirmed", "confirmed", "unconfirmed"]),
    staleComplete: dice.pick(["lost", "ignored", "succeeds"]),
    staleExtend: dice.pick(["lost", "ignored", "revives"]),
    countsDeliveries: dice.chance(0.7),
    deadLetter: dice.pick(["native", "copy", "store"]),
    abandonDelay: dice.pick(["native", "copy"]),
    maxBatch: dice.pick([1, 10]),
    ordering: keyed,
  };
  return {
    ...lies,
    ...(lies.deadLetter !== "store" && dice.chance(0.3) ? { maxDeliveries: dice.int(2, 5) } : {}),
    ...(dice.chance(0.2) ? { fixedLeaseMs: dice.int(3_000, 8_000) } : {}),
    ...(dice.chance(0.2) ? { totalLeaseMs: dice.int(6_000, 12_000) } : {}),
    ...(dice.chance(0.2) ? { duplicateWindowMs: 60_000 } : {}),
    ...(dice.chance(0.2) ? { maxSendDelayMs: 0, maxAbandonDelayMs: dice.int(0, 3_000) } : {}),
    ...(dice.chance(0.1) ? { retentionMs: dice.int(10_000, 40_000) } : {}),
  };
}

/** Each run has some kinds of faults, and few or many of them: a run with all kinds at once hides what one kind does. */
function ratesOf(dice: Dice): Rates {
  const rates: Partial<Record<string, number>> = {};
  const calm = dice.chance(0.1);
  for (const kind of CALL_FAULTS) {
    const stops = kind.startsWith("crash") || kind === "stall_in_call";
    if (!calm && dice.chance(0.4)) rates[kind] = stops ? dice.pick([0.002, 0.01]) : dice.pick([0.01, 0.03, 0.1]);
  }
  for (const kind of SYSTEM_FAULTS) if (dice.chance(0.4)) rates[kind] = dice.pick([0.05, 0.15, 0.3]);
  for (const kind of DELIVERY_FAULTS) if (dice.chance(0.2)) rates[kind] = dice.pick([0.05, 0.2]);
  if (dice.chance(0.5)) rates["person_resumes"] = 0.7;
  return rates;
}

function tasksOf(seed: number, dice: Dice, keyed: boolean, chaosMs: number): readonly PlannedTask[] {
  const count = dice.int(2, 5);
  const favourite = dice.chance(0.5) ? dice.pick(TASK_TYPES) : undefined;
  return Array.from({ length: count }, (_, number) => {
    const type = favourite !== undefined && dice.chance(0.6) ? favourite : dice.pick(TASK_TYPES);
    const orderingKey = keyed && dice.chance(0.8) ? dice.pick(["red", "red", "blue"]) : undefined;
    const delayMs = orderingKey === undefined && dice.chance(0.15) ? dice.int(500, 20_000) : undefined;
    return {
      number,
      type,
      program: programOf(createDice(seed, `program ${number}`), type),
      atMs: dice.int(0, chaosMs / 3),
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(dice.chance(0.12) ? { deadlineMs: (delayMs ?? 0) + dice.int(1_000, 20_000) } : {}),
      ...(orderingKey === undefined ? {} : { orderingKey }),
      ...(dice.chance(0.1) ? { foreign: true as const } : {}),
    };
  });
}

function actsOf(dice: Dice, chaosMs: number): readonly Act[] {
  const favoured = ACTS.filter(() => dice.chance(0.45));
  if (favoured.length === 0) return [];
  return Array.from({ length: dice.int(0, 10) }, (_, index): Act => {
    const kind = dice.pick(favoured);
    return { id: `act/${index}`, kind, atMs: dice.int(200, chaosMs), which: dice.float(), size: dice.float() };
  }).sort((left, right) => left.atMs - right.atMs);
}
