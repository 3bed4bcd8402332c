import { type FaultKind, HELD } from "./faults.ts";
import { openMemorySetup } from "./memory-setup.ts";
import type { Setup, SetupOptions } from "./setup.ts";
import { openSqsSetup } from "./sqs-setup.ts";

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

const PROVIDERS: Readonly<Record<string, Provider>> = {
  /** Workers are parts of this process: they can be cut off, and cannot be stopped and continued. */
  memory: { faults: EVERYWHERE, heldFaults: [], open: openMemorySetup },
  sqs: {
    faults: ["paused_worker", "crash_in_external_call", ...EVERYWHERE],
    heldFaults: Object.keys(HELD) as FaultKind[],
    open: openSqsSetup,
  },
};

/** `undefined` for one that does not exist; see {@link providerNames}. */
export function providerOf(name: string): Provider | undefined {
  return Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
}

export const providerNames: readonly string[] = Object.keys(PROVIDERS);
