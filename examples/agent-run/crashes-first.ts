import { HELD } from "./faults.ts";
import type { HeldFaultOptions, HeldFaults } from "./held-faults.ts";
import type { HeldAnswer } from "./ledger.ts";

export interface FirstCrashOptions extends Pick<HeldFaultOptions, "plan" | "taskIdOf" | "system" | "happened"> {
  readonly workers: Pick<HeldFaultOptions["workers"], "kill">;
}

/**
 * Crashes that leave the same records wherever they happen: the tasks that they hit are handed out first. The external system holds the
 * answers to their writes until it has all of them; then the workers that wait are killed, and nothing else was under way in those. Only
 * then do the other calls follow, while the leases of the dead run out.
 */
export function createFirstCrashes({ plan, taskIdOf, system, workers, happened }: FirstCrashOptions): HeldFaults {
  const crashes = plan.filter(({ kind }) => HELD[kind] !== undefined);
  const held = new Map<string, HeldAnswer>();
  const over = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  let begun = crashes.length === 0;
  if (begun) over.resolve();

  async function crash(): Promise<void> {
    begun = true;
    for (const name of new Set([...held.values()].map(({ caller }) => caller))) await workers.kill(name);
    for (const { kind, call } of crashes) happened.set(kind, taskIdOf(call));
    for (const answer of held.values()) system.letGo(answer);
    over.resolve();
  }

  system.onHeld((answer) => {
    // After the crash it is a retry.
    if (begun) {
      system.letGo(answer);
      return;
    }
    held.set(answer.name, answer);
    if (held.size === crashes.length) crash().catch(failed.reject);
  });
  return {
    failed: failed.promise,
    async ready(call) {
      if (crashes.every((fault) => fault.call !== call)) await over.promise;
    },
    problems: () => [],
    stop: () => over.resolve(),
  };
}
