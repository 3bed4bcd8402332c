import { z } from "zod";
import type { Clock } from "../clock.ts";
import { type ResolvedTask, resolveTask } from "../task/resolve.ts";

/** How long a type may be unknown to this process before its tasks are dead-lettered: a rolling deploy takes less, ms. */
const PATIENCE_MS = 3_600_000;
/** Tasks remembered; the oldest is forgotten, which only makes its patience begin anew. */
const REMEMBERED = 10_000;

/** Since when this process knows deliveries of types that it has no handler for. */
export interface UnknownTypes {
  /** True once this task has been known as unknown for an hour. */
  isOverdue(taskId: string): boolean;
  forget(taskId: string): void;
}

export function createUnknownTypes(clock: Clock): UnknownTypes {
  const since = new Map<string, number>();
  return {
    isOverdue(taskId) {
      const first = since.get(taskId);
      if (first !== undefined) return clock.monotonic() - first >= PATIENCE_MS;
      if (since.size >= REMEMBERED) {
        const oldest = since.keys().next();
        if (oldest.done !== true) since.delete(oldest.value);
      }
      since.set(taskId, clock.monotonic());
      return false;
    },
    forget: (taskId) => void since.delete(taskId),
  };
}

/** Stands in for a type without a definition, so that its task can be ended under a lease. Never run. */
export function unknownTask(type: string): ResolvedTask {
  const standIn = resolveTask({
    type: "unknown",
    input: z.unknown(),
    run: () => {
      throw new Error(`task type ${type} has no handler in this worker`);
    },
  });
  return { ...standIn, type };
}
