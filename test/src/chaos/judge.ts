import type { TaskRecord } from "@leasehold/core";
import type { Entry, Outside, System } from "./outside.ts";

/** What a chaos run is judged by: the world's own book, and the records as they are at the end. */
export interface Evidence {
  readonly outside: Pick<Outside, "entries" | "runs">;
  /** Each task that was enqueued, as it is now; `undefined`: there is none. */
  readonly tasks: ReadonlyMap<string, TaskRecord | undefined>;
  /** Records that were seen settled before, as they were then. */
  readonly seenSettled: ReadonlyMap<string, TaskRecord>;
  /** Receipts that were seen before, as text, by task and by the name of the effect. */
  readonly seenReceipts: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Messages that nobody completed although all tasks had ended. */
  readonly messagesLeft: number;
}

/** The invariants of the design that a chaos run can see from outside, by their numbers. */
export const JUDGED: Readonly<Record<number, string>> = {
  1: "one holder at a time: no fence is run twice, and nothing is done under one above that of the end",
  2: "a receipt names what is there, and never changes",
  3: "settled is final: no handler runs, and nothing is made, under a later fence",
  4: "an effect with a guard is there once",
  5: "an effect without a guard is never made a second time",
  6: "no task is lost: each has ended as its type may, or waits for a person where that is for a person to decide",
  9: "no task ends with an effect whose outcome nobody looked up, and no message outlives its task",
};

export interface Finding {
  readonly invariant: number;
  readonly text: string;
}

const ENDS: ReadonlySet<string> = new Set(["settled", "dead_lettered", "cancelled", "parked"]);
const DECIDED_BY_PERSONS: ReadonlySet<string> = new Set(["settled", "parked"]);
/**
 * No attempts are used up in a chaos run, so that nothing but what is hopeless is given up, and only what has no guard may wait for
 * a person. A type that is not here may end in any way.
 */
const ENDS_OF: Readonly<Record<string, ReadonlySet<string>>> = {
  post: new Set(["settled"]),
  issue: new Set(["settled"]),
  plain: new Set(["settled"]),
  transfer: DECIDED_BY_PERSONS,
  message: DECIDED_BY_PERSONS,
  release: DECIDED_BY_PERSONS,
  hopeless: new Set(["dead_lettered"]),
};
const LOOKED_UP: ReadonlySet<string> = new Set(["verified", "failed"]);
const GUARDED: ReadonlySet<System> = new Set<System>(["blog", "tracker"]);

/** Has it come to an end, or does a person have to go on? */
export function isOver(record: TaskRecord | undefined): boolean {
  return record !== undefined && ENDS.has(record.status);
}

export function judge({ outside, tasks, seenSettled, seenReceipts, messagesLeft }: Evidence): readonly Finding[] {
  const findings: Finding[] = [];
  const find = (invariant: number, text: string): void => void findings.push({ invariant, text });
  const entriesOf = Map.groupBy(outside.entries, ({ task }) => task);
  const fencesOf = Map.groupBy(outside.runs, ({ task }) => task);

  for (const { task } of [...outside.entries, ...outside.runs]) {
    if (!tasks.has(task)) find(1, `something was done for ${task}, which nobody enqueued`);
  }
  if (messagesLeft > 0) find(9, `${messagesLeft} messages are left although all tasks have ended`);

  for (const [taskId, record] of tasks) {
    if (record === undefined || !isOver(record)) {
      find(6, `task ${taskId} is ${record?.status ?? "gone"}`);
      continue;
    }
    if (!(ENDS_OF[record.task_type] ?? ENDS).has(record.status)) {
      find(
        6,
        `task ${taskId} of type ${record.task_type} is ${record.status}: ${record.end_reason ?? "no reason given"}`,
      );
    }
    const entries = entriesOf.get(taskId) ?? [];
    const fences = (fencesOf.get(taskId) ?? []).map(({ fence }) => fence);
    const twice = fences.find((fence, index) => fences.indexOf(fence) !== index);
    if (twice !== undefined) find(1, `task ${taskId}: the handler ran twice under fence ${twice}`);
    const beyond = Math.max(0, ...fences, ...entries.map(({ fence }) => fence));
    if (beyond > record.fence)
      find(1, `task ${taskId}: a handler was at work under fence ${beyond}, and it ended at ${record.fence}`);
    if (record.open_effects > 0 && record.status !== "parked") {
      find(9, `task ${taskId} is ${record.status} with ${record.open_effects} open effects`);
    }
    judgeEffects(taskId, record, entries, find);
    for (const [name, before] of seenReceipts.get(taskId) ?? []) {
      const now = JSON.stringify(record.effects[name]?.receipt);
      if (now !== before) find(2, `task ${taskId}: the receipt of ${name} was ${before}, and is ${now}`);
    }
  }

  for (const [taskId, before] of seenSettled) {
    const now = tasks.get(taskId);
    if (now?.status !== "settled" || now.fence !== before.fence) {
      find(3, `task ${taskId} was settled under fence ${before.fence}, and is ${now?.status} under ${now?.fence}`);
    } else if (JSON.stringify(now.settlement_receipt) !== JSON.stringify(before.settlement_receipt)) {
      find(2, `task ${taskId}: its receipt has changed`);
    }
    const done = [...(entriesOf.get(taskId) ?? []), ...(fencesOf.get(taskId) ?? [])];
    const late = done.find(({ fence }) => fence > before.fence);
    if (late !== undefined) find(3, `task ${taskId}: a handler was at work under fence ${late.fence}, after the end`);
  }
  return findings;
}

function judgeEffects(
  taskId: string,
  record: TaskRecord,
  entries: readonly Entry[],
  find: (invariant: number, text: string) => void,
): void {
  for (const [system, made] of Map.groupBy(entries, (entry) => entry.system)) {
    if (made.length > 1) {
      const ids = made.map(({ id, fence }) => `${id} under fence ${fence}`).join(", ");
      find(GUARDED.has(system) ? 4 : 5, `task ${taskId}: ${ids}`);
    }
  }
  for (const [name, effect] of Object.entries(record.effects)) {
    const there = entries.filter(({ system }) => system === name);
    if (effect.receipt !== undefined && !there.some(({ id }) => id === effect.receipt?.external_id)) {
      find(2, `task ${taskId}: the receipt of ${name} names ${effect.receipt.external_id}, which is not there`);
    }
    const isKnown = record.status === "settled" ? effect.receipt !== undefined : LOOKED_UP.has(effect.state);
    if (record.status !== "parked" && !isKnown)
      find(9, `task ${taskId} is ${record.status}, and ${name} is ${effect.state}`);
  }
  const { settlement_receipt: receipt } = record;
  if (record.status !== "settled" || receipt?.external_system === "none") return;
  if (receipt === undefined || !entries.some(({ id }) => id === receipt.external_id)) {
    find(2, `task ${taskId} is settled by ${receipt?.external_id ?? "no receipt"}, which is not there`);
  }
}
