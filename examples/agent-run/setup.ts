import type { Entropy, QueueDriver, TaskStore } from "@leasehold/core";
import type { Tally } from "./counts.ts";
import type { FaultKind, PlannedFault } from "./faults.ts";
import type { RunTask } from "./ledger-check.ts";
import type { SystemProcess } from "./system-process.ts";
import type { ToolCall } from "./task-file.ts";

/** Queue, store and workers of one provider, and what goes wrong between them. */
export interface Setup {
  /** As the agent's client sees them. */
  readonly queue: QueueDriver;
  readonly store: TaskStore;
  /** What has come to pass, and the id of the task that it hit. */
  readonly happened: ReadonlyMap<FaultKind, string>;
  /** Workers that died. */
  readonly deaths: number;
  /** Rejects when something ends by itself that should not. */
  readonly failed: Promise<never>;
  /** Resolves when the agent may hand out this call: a fault may need that it waits for an earlier one. */
  ready(call: ToolCall): Promise<void>;
  /** What must not be, beside what the ledger shows. */
  problems(tasks: readonly RunTask[]): readonly string[];
  /** Stops the workers in order. */
  stopWorkers(): Promise<void>;
  /** Ends everything that was started. */
  close(): Promise<void>;
}

export interface SetupOptions {
  readonly calls: readonly ToolCall[];
  readonly plan: readonly PlannedFault[];
  readonly taskIdOf: (queue: QueueDriver, call: ToolCall) => string;
  /** Of the tasks. */
  readonly leaseMs: number;
  /**
   * `spread`: each crash hits a worker at its moment, with whatever else that one has. `first`: see {@link createFirstCrashes}.
   */
  readonly crashes: "spread" | "first";
  readonly system: SystemProcess;
  readonly tally: Tally;
  readonly entropy: Entropy;
  readonly recoverAfterMs: number;
  /** The run as it was seen last. */
  readonly look: () => readonly RunTask[];
}
