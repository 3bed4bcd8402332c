import { type FaultKind, HELD } from "./faults.ts";
import { openMemorySetup } from "./memory-setup.ts";
import { openProcessSetup } from "./process-setup.ts";
import type { QueueServer } from "./servers/queue-server.ts";
import { startSqsServer } from "./servers/sqs.ts";
import type { Setup, SetupOptions } from "./setup.ts";

export interface Provider {
  /** What can go wrong there, in the order in which tasks are chosen for it. */
  readonly faults: readonly FaultKind[];
  /** Those of them for which the external system holds an answer. */
  readonly heldFaults: readonly FaultKind[];
  open(options: SetupOptions): Promise<Setup>;
}

const EVERYWHERE: readonly FaultKind[] = [
  "lost_message",
  "hung_call",
  "lost_renewals",
  "crash_after_send",
  "crash_after_commit",
  "lost_answer",
  "doubled_message",
];

/** Workers are processes, beside servers of the queue service and of DynamoDB. */
function onProcesses(startQueueServer: () => Promise<QueueServer>): Provider {
  return {
    faults: ["paused_worker", "crash_in_external_call", ...EVERYWHERE],
    heldFaults: Object.keys(HELD) as FaultKind[],
    open: (options) => openProcessSetup(startQueueServer, options),
  };
}

const PROVIDERS: Readonly<Record<string, Provider>> = {
  /** Workers are parts of this process: they can be cut off, and cannot be stopped and continued. */
  memory: { faults: EVERYWHERE, heldFaults: [], open: openMemorySetup },
  sqs: onProcesses(startSqsServer),
};

/** `undefined` for one that does not exist; see {@link providerNames}. */
export function providerOf(name: string): Provider | undefined {
  return Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
}

export const providerNames: readonly string[] = Object.keys(PROVIDERS);
