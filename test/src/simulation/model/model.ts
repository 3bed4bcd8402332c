import type { AppliedWrite } from "../recorder.ts";
import { createEffectChecks } from "./effects.ts";
import { createHandlerChecks } from "./handlers.ts";
import { createRecordChecks } from "./records.ts";
import type { ModelContext, TaskState } from "./state.ts";

export type Model = ReturnType<typeof createModel>;

/** What the run must be like, told by nothing but what was seen from outside. */
export function createModel(
  context: ModelContext,
  options: { readonly concurrency: number; readonly onParked: (state: TaskState) => void },
) {
  const effects = createEffectChecks(context);
  const records = createRecordChecks(context, effects.evidence);
  const handlers = createHandlerChecks(context, effects.evidence, options.concurrency);
  const results = new Map<string, string>();

  function onWrite(write: AppliedWrite): void {
    const { key, before, after } = write;
    if (key.startsWith("task#")) {
      records.onWrite(write);
      const state = context.tasks.get(String(after["task_id"]));
      if (state?.record.status === "parked" && before?.["status"] !== "parked") options.onParked(state);
    } else if (key.startsWith("result#")) {
      // The result item of a fence is its holder's alone.
      const text = String(after["text"]);
      if (before !== undefined && results.get(key) !== text) context.fail(1, `${key}: replaced by ${write.writer}`);
      results.set(key, text);
    } else if (key.startsWith("key#")) checkSharedKey(write);
  }

  function checkSharedKey({ key, writer, before, after }: AppliedWrite): void {
    const owner = String(after["task_id"]);
    context.log("key", writer, key, owner, Number(after["fence"]));
    if (before === undefined || before["task_id"] === owner) return;
    const theirs = context.tasks.get(String(before["task_id"]))?.record;
    if (theirs === undefined) return;
    const { status } = theirs;
    // The owner may have been reopened since it was read, under a higher fence; it then finds that the key is gone.
    const final =
      status === "dead_lettered" || status === "cancelled" || status === "settled" || theirs.fence === before["fence"];
    const live = status === "leased" && theirs.fence === before["fence"];
    if (live || !final)
      context.fail(1, `${key}: taken by ${writer} for ${owner} from task ${theirs.task_id}, which is ${status}`);
  }

  return { onWrite, effects, handlers };
}
