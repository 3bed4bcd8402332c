import { type FaultKind, HELD } from "./faults.ts";
import { openMemorySetup } from "./memory-setup.ts";
import { openProcessSetup } from "./process-setup.ts";
import { startPubsubServer } from "./servers/pubsub.ts";
import type { QueueServer } from "./servers/queue-server.ts";
import { startServicebusServer } from "./servers/servicebus.ts";
import { startSqsServer } from "./servers/sqs.ts";
import type { Setup, SetupOptions } from "./setup.ts";

export interface Provider {
  readonly name: string;
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
function onProcesses(name: string, startQueueServer: () => Promise<QueueServer>): Provider {
  return {
    name,
    faults: ["paused_worker", "crash_in_external_call", ...EVERYWHERE],
    heldFaults: Object.keys(HELD) as FaultKind[],
    open: (options) => openProcessSetup(startQueueServer, options),
  };
}

const PROVIDERS: readonly Provider[] = [
  /** Workers are parts of this process: they can be cut off, and cannot be stopped and continued. */
  { name: "memory", faults: EVERYWHERE, heldFaults: [], open: openMemorySetup },
  onProcesses("sqs", startSqsServer),
  onProcesses("pubsub", startPubsubServer),
  onProcesses("servicebus", startServicebusServer),
];

const ALL = "all";

/** The one of this name, or all that there are, to be compared. Empty for a name that does not exist; see {@link providerNames}. */
export function providersOf(name: string): readonly Provider[] {
  return PROVIDERS.filter((provider) => name === ALL || provider.name === name);
}

export const providerNames: readonly string[] = [...PROVIDERS.map(({ name }) => name), ALL];
