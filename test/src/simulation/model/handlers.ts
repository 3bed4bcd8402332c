import { BUDGETS_MS, type HandlerObserver } from "../definitions.ts";
import type { Host } from "../host.ts";
import type { ModelContext, Run } from "./state.ts";

/** Watches the handlers: when one may start, how many there are, and what each claims. */
export function createHandlerChecks(context: ModelContext, concurrency: number): HandlerObserver {
  const { fail, tasks, log, now, inBounds } = context;
  const running = new Map<string, number>();

  return {
    handlerStarts(host: Host, task) {
      log("handler starts", host.name, task.id, task.fence);
      const at = `task ${task.id}: ${host.name} starts the handler of fence ${task.fence}`;
      const count = (running.get(host.name) ?? 0) + 1;
      running.set(host.name, count);
      if (count > concurrency) fail(9, `${at}: the ${count}th at a time, with ${concurrency} slots`);
      const state = tasks.get(task.id);
      if (state === undefined) {
        fail(1, `${at}: there is no record`);
        return { ends: () => undefined };
      }
      const { record } = state;
      if (inBounds && record.status === "settled") fail(3, `${at}: the task is settled`);
      if (record.fence === task.fence && host.clock.now() >= Date.parse(record.lease_expires_at ?? "")) {
        fail(7, `${at}: its own clock says that the lease is over`);
      }
      if (inBounds) for (const other of state.runs) {
        if (other.running && other.host.alive && !other.signal.aborted && now() > other.host.excusedUntil) {
          fail(7, `${at}: ${other.host.name} runs that of fence ${other.fence}, and its signal has not aborted`);
        }
      }
      const run: Run = { host, fence: task.fence, signal: task.signal, running: true };
      state.runs.push(run);
      // The handler starts with the budget of preflight, whatever the readbacks before it have used.
      if (record.fence === task.fence) state.claims.set("", now() + BUDGETS_MS.preflight);
      return {
        ends() {
          run.running = false;
          running.set(host.name, (running.get(host.name) ?? 1) - 1);
          log("handler ends", host.name, task.id, task.fence);
        },
      };
    },
    claims(host, taskId, fence, budgetMs) {
      const state = tasks.get(taskId);
      if (state?.holder?.host === host && state.record.fence === fence) state.claims.set("", now() + budgetMs);
    },
  };
}
