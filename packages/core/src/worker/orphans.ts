import type { Timer } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";
import type { TaskLabel } from "../telemetry/telemetry.ts";
import type { Lease } from "./lease.ts";
import type { Runtime } from "./runtime.ts";

/** Handlers that still run although their lease is gone. */
export interface Orphans {
  add(lease: Lease, label: TaskLabel): void;
  remove(lease: Lease): void;
  /** Reports each that has run on for `hungAfterMs`, as `Hung`, until the function that it answers is called. One watch at a time. */
  watch(onHung: (error: LeaseholdError) => void): () => void;
  readonly size: number;
}

interface Orphan {
  readonly label: TaskLabel;
  readonly hungAtMonotonic: number;
  timer: Timer | undefined;
}

export function createOrphans(runtime: Runtime): Orphans {
  const { clock, telemetry, settings } = runtime;
  const held = new Map<Lease, Orphan>();
  let report: ((error: LeaseholdError) => void) | undefined;

  const arm = (lease: Lease, orphan: Orphan): void => {
    if (report === undefined || settings.hungAfterMs === Number.POSITIVE_INFINITY) return;
    const { taskId } = lease;
    orphan.timer = clock.setTimer(orphan.hungAtMonotonic - clock.monotonic(), () => {
      report?.(
        new LeaseholdError(
          "Hung",
          `the handler of task ${taskId} ignores its signal and has run on for ${settings.hungAfterMs} ms after its lease was gone`,
          { details: { task_id: taskId } },
        ),
      );
    });
  };

  return {
    add(lease, label) {
      if (held.has(lease)) return;
      telemetry.orphaned(label, 1);
      const orphan: Orphan = {
        label,
        hungAtMonotonic: clock.monotonic() + settings.hungAfterMs,
        timer: undefined,
      };
      held.set(lease, orphan);
      arm(lease, orphan);
    },
    remove(lease) {
      const orphan = held.get(lease);
      if (orphan === undefined) return;
      held.delete(lease);
      orphan.timer?.cancel();
      telemetry.orphaned(orphan.label, -1);
    },
    watch(onHung) {
      report = onHung;
      for (const [lease, orphan] of held) arm(lease, orphan);
      return () => {
        report = undefined;
        for (const orphan of held.values()) orphan.timer?.cancel();
      };
    },
    get size() {
      return held.size;
    },
  };
}
