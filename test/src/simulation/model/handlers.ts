import { abortReasonOf } from "@leasehold/core";
import { BUDGETS_MS, type HandlerObserver } from "../definitions.ts";
import type { Host } from "../host.ts";
import type { EvidenceBook } from "./effects.ts";
import type { ModelContext, Run, TaskState } from "./state.ts";

/** Watches the handlers: when one may start, how many there are, and what each claims. */
export interface HandlerChecks extends HandlerObserver {
  /** How many handlers run in a process. */
  running(host: Host): number;
}

export function createHandlerChecks(context: ModelContext, evidence: EvidenceBook, concurrency: number): HandlerChecks {
  const { fail, tasks, log, now, inBounds } = context;
  const running = new Map<string, number>();

  /** What is open was read back before the handler runs; an inline effect waits for the handler. */
  function checkReadBack(host: Host, state: TaskState, at: string): void {
    for (const [slot, effect] of Object.entries(state.record.effects)) {
      if (
        slot.startsWith("note") ||
        effect.shared === true ||
        (effect.state !== "started" && effect.state !== "committed")
      )
        continue;
      const seen = evidence.of(host.name, effect.key, state.holder?.at ?? 0);
      if (!seen.absent && seen.foundIds.size === 0 && state.permissions.get(slot) === undefined)
        fail(9, `${at}: effect ${slot} is open, and was not read back`);
    }
  }

  /** A process that is scheduled knows by its own clock that a lease is over. */
  function checkGround(run: Run, state: TaskState): void {
    const { host, fence, signal } = run;
    const { record } = state;
    if (
      !inBounds ||
      record.fence !== fence ||
      record.status !== "leased" ||
      signal.aborted ||
      now() <= host.excusedUntil
    )
      return;
    const lateMs = host.clock.now() - Date.parse(record.lease_expires_at ?? "");
    if (lateMs >= 0)
      fail(
        7,
        `task ${state.id}: the handler of fence ${fence} goes on in ${host.name}, ${lateMs} ms after the end of its lease by its own clock`,
      );
  }

  return {
    running: (host) => running.get(host.name) ?? 0,
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
      if (inBounds)
        for (const other of state.runs) {
          if (other.running && other.host.alive && !other.signal.aborted && now() > other.host.excusedUntil) {
            fail(7, `${at}: ${other.host.name} runs that of fence ${other.fence}, and its signal has not aborted`);
          }
        }
      const run: Run = { host, fence: task.fence, signal: task.signal, running: true };
      state.runs.push(run);
      if (record.fence === task.fence) checkReadBack(host, state, at);
      task.signal.addEventListener("abort", () => {
        const taken = abortReasonOf(task.signal) === "taken_over";
        if (
          run.running &&
          taken &&
          state.record.fence === task.fence &&
          state.record.status === "leased" &&
          record.ordering_key === undefined
        ) {
          fail(
            7,
            `task ${task.id}: ${host.name} was told that fence ${task.fence} was taken over, and nobody has taken it`,
          );
        }
      });
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
      if (state === undefined) return;
      const run = state.runs.find((one) => one.host === host && one.fence === fence);
      if (run !== undefined) checkGround(run, state);
      if (state.holder?.host === host && state.record.fence === fence) state.claims.set("", now() + budgetMs);
    },
  };
}
