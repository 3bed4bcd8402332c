import type { z } from "zod";
import type { TaskDefinition } from "./define.ts";
import { resolveTask } from "./resolve.ts";

/**
 * Describes one type of task: its input, its effects and its handler. The handler's `task.input` has the type of the schema's output.
 * Defaults: 5 attempts, a lease of 60 s, a back-off of 5 s doubling to 10 min, 24 h for one attempt, and budgets of 2 min in preflight,
 * 10 min in external_call, 2 min in commit, 5 min in verify. Throws `InvalidArgument` naming the field that is wrong.
 */
export function defineTask<S extends z.ZodType, R = unknown>(definition: TaskDefinition<S, R>): TaskDefinition<S, R> {
  resolveTask(definition);
  return Object.freeze({ ...definition });
}
