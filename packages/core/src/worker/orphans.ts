import type { TaskLabel } from "../telemetry/telemetry.ts";
import type { Lease } from "./lease.ts";
import type { Runtime } from "./runtime.ts";

/** Handlers that still run although their lease is gone. */
export interface Orphans {
  add(lease: Lease, label: TaskLabel): void;
  remove(lease: Lease): void;
  readonly size: number;
}

/** Counts orphans, and reports the first that runs on for `hungAfterMs`. */
export function createOrphans(runtime: Runtime, onHung: (taskId: string) => void): Orphans {
  const { clock, telemetry, settings } = runtime;
  const held = new Map<Lease, { readonly label: TaskLabel; readonly stop: () => void }>();
  return {
    add(lease, label) {
      if (held.has(lease)) return;
      telemetry.orphaned(label, 1);
      const timer =
        settings.hungAfterMs === Number.POSITIVE_INFINITY
          ? undefined
          : clock.setTimer(settings.hungAfterMs, () => onHung(lease.taskId));
      held.set(lease, { label, stop: () => timer?.cancel() });
    },
    remove(lease) {
      const entry = held.get(lease);
      if (entry === undefined) return;
      held.delete(lease);
      entry.stop();
      telemetry.orphaned(entry.label, -1);
    },
    get size() {
      return held.size;
    },
  };
}
