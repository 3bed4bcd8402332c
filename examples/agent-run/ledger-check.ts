import type { TaskRecord } from "@leasehold/core";
import type { Ledger, LedgerEntry } from "./ledger.ts";
import type { ToolCall } from "./task-file.ts";

/** A task of the run, as it stands at the end. */
export interface RunTask {
  readonly call: ToolCall;
  /** `undefined`: no record. */
  readonly record: TaskRecord | undefined;
}

export interface LedgerVerdict {
  /** What must not be. Empty: the run kept its promise. */
  readonly problems: readonly string[];
  /** Effects that are there exactly once, with the receipt that names them. */
  readonly once: number;
  /** Caught in the commit of a system that cannot be read: a person must look. `there`: what the ledger, which no handler sees, knows. */
  readonly parked: readonly { readonly call: ToolCall; readonly there: number }[];
}

/** Where each tool writes, and the field of its input by which its entry is recognised. */
const TOOLS: Readonly<
  Record<string, { readonly system: LedgerEntry["system"]; readonly field: string; readonly readable: boolean }>
> = {
  publish_post: { system: "blog", field: "title", readable: true },
  open_issue: { system: "tracker", field: "title", readable: true },
  send_message: { system: "chat", field: "text", readable: false },
};

/**
 * Holds the records against the ledger. Each task must have ended with its effect there once, as its receipt says; only a
 * task whose system cannot be read and that was caught in commit may be parked, its effect there once or not at all.
 */
export function checkLedger(tasks: readonly RunTask[], ledger: Ledger): LedgerVerdict {
  const problems: string[] = [];
  const parked: { readonly call: ToolCall; readonly there: number }[] = [];
  const unclaimed = new Set(ledger.entries);
  let once = 0;
  for (const { call, record } of tasks) {
    if (record === undefined) {
      problems.push(`${call.key}: it has no record`);
      continue;
    }
    const entries = [...unclaimed].filter((entry) => isOf(entry, call, record));
    for (const entry of entries) unclaimed.delete(entry);
    const problem = problemOf(call, record, entries);
    if (problem !== undefined) problems.push(`${call.key}: ${problem}`);
    else if (record.status === "parked") parked.push({ call, there: entries.length });
    else once += 1;
  }
  for (const entry of unclaimed)
    problems.push(
      `${entry.id}: ${entry.system} holds it under ${entry.reference}, and no task of the run asked for it`,
    );
  return { problems, once, parked };
}

/** Every reference that a task gives out begins with its id. */
function isOf(entry: LedgerEntry, call: ToolCall, record: TaskRecord): boolean {
  return entry.system === TOOLS[call.type]?.system && entry.reference.startsWith(record.task_id);
}

function problemOf(call: ToolCall, record: TaskRecord, entries: readonly LedgerEntry[]): string | undefined {
  const { status, settlement_receipt: receipt } = record;
  const tool = TOOLS[call.type];
  if (tool === undefined) return `nobody knows where ${call.type} writes`;
  if (entries.length > 1)
    return `its effect is there ${entries.length} times: ${entries.map((entry) => entry.id).join(", ")}`;
  const [entry] = entries;
  if (entry !== undefined && entry.content[tool.field] !== call.input[tool.field])
    return `${entry.id} has another ${tool.field} than the task`;
  if (status === "parked") {
    if (tool.readable) return `it is parked (${record.end_reason}), though ${tool.system} can be read back`;
    return isOpen(record) ? undefined : `it is parked (${record.end_reason}) without having been caught in commit`;
  }
  if (status !== "settled")
    return `it is ${status}${record.end_reason === undefined ? "" : ` (${record.end_reason})`}, expected settled`;
  if (entry === undefined) return `it is settled, and its effect is not there`;
  if (receipt === undefined) return `it is settled without a receipt`;
  if (receipt.external_id !== entry.id && receipt.external_id !== entry.reference) {
    return `its receipt names ${receipt.external_id}, and the ledger has ${entry.id}`;
  }
  return undefined;
}

/** An effect was begun, and nothing proves how it came out. */
function isOpen(record: TaskRecord): boolean {
  return Object.values(record.effects).some(({ state }) => state === "started" || state === "committed");
}
