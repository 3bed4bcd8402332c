import { isDeepStrictEqual } from "node:util";
import type { TaskRecord } from "@leasehold/core";
import type { Host } from "../host.ts";

/** The invariants of the design that a run is checked against; `10` stands for what is checked besides. */
export type Invariant = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;

export interface Violation {
  readonly invariant: Invariant;
  readonly text: string;
  readonly atMs: number;
}

/** One handler run. */
export interface Run {
  readonly host: Host;
  readonly fence: number;
  readonly signal: AbortSignal;
  running: boolean;
}

/** What the model knows of one task, all of it from what was seen. */
export interface TaskState {
  readonly id: string;
  record: TaskRecord;
  /** Who acquired the fence that the record shows, and when, true time. */
  holder: { readonly host: Host; readonly at: number } | undefined;
  readonly runs: Run[];
  /** When each process last ended a lease of it, true time. */
  readonly endedBy: Map<string, number>;
  /** When it last left an end, or the wait for a person, true time. */
  leftEndAt: number;
  /** Permissions to commit again that people gave, by effect. */
  readonly permissions: Map<string, number>;
  /** People who said that an effect was committed: `<slot> <person>`. */
  readonly vouched: Set<string>;
  /** When the claims of the present holder run out, true time: the last of its own line, and of each effect. */
  readonly claims: Map<string, number>;
  /** Begins that were applied: `<fence> <slot>` to the end of the lease that came with it, in the holder's wall time. */
  readonly begun: Map<string, number>;
  /** The effect was not open when it was begun: `<fence> <slot>`. */
  readonly begunAnew: Set<string>;
  /** A begin came after the effect was marked as failed: `<fence> <slot>`. */
  readonly begunAfterFailed: Set<string>;
  /** Since when it waits and is due, in a healthy world. */
  waitsSince: number | undefined;
}

export interface ModelContext {
  readonly now: () => number;
  readonly tasks: Map<string, TaskState>;
  /** The skew is within what was promised: 4, 6, 7, 8 and 9 must hold too. */
  readonly inBounds: boolean;
  readonly skewMs: number;
  readonly hosts: Map<string, Host>;
  /** When a process last received a message, true time: up to then nobody can say that the queue is empty. */
  lastReceivedAt: number;
  fail(invariant: Invariant, text: string): void;
  log(...parts: readonly (string | number)[]): void;
}

/** The task that an effect's key belongs to, and its slot; a shared key belongs to none. */
export function ownerOfKey(key: string): { readonly taskId: string; readonly slot: string } | undefined {
  const colon = key.indexOf(":");
  return colon < 0 ? undefined : { taskId: key.slice(0, colon), slot: key.slice(colon + 1) };
}

/** Are two stored values equal, in whatever order their members stand? */
export function same(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  return isDeepStrictEqual(left, right);
}
