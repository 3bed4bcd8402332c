import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Clock,
  createTaskStore,
  type ItemStore,
  LeaseholdError,
  type QueueDriver,
  sleep,
  type TaskStore,
  type Timer,
} from "@leasehold/core/driver";
import type { Call, Fault, FaultRule, PlayedProcess, ProcessOptions, TimeControls } from "./harness.ts";

/** The clock of one more process, with what can happen to it where time is played. */
export interface BaseClock extends Clock {
  readonly controls?: TimeControls;
}

/** What a process is made of. */
export interface ProcessParts {
  readonly clock: BaseClock;
  readonly queue: QueueDriver;
  readonly items: ItemStore;
}

/** A played process, with the queue and the store that its client or worker gets. */
export interface MortalProcess extends PlayedProcess {
  readonly queue: QueueDriver;
  readonly store: TaskStore;
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** The parts of a process behind a layer of faults: each call is logged, may go wrong, and goes nowhere once the process is dead. */
export function createProcess(parts: ProcessParts, options: ProcessOptions = {}): MortalProcess {
  const calls: Call[] = [];
  const death = new AbortController();
  let rules: { readonly rule: FaultRule; seen: number }[] = (options.faults ?? []).map((rule) => ({ rule, seen: 0 }));
  const clock = mortalClock(parts.clock, death.signal);
  const crash = (): void => death.abort();

  const faultOf = (call: Call): Fault => {
    const label = call.key === undefined ? call.name : `${call.name} ${call.key}`;
    for (const entry of rules) {
      const { on, skip = 0, times = 1, fault } = entry.rule;
      if (call.name !== on && !(on.endsWith(".") || on.includes(" ") ? label.startsWith(on) : false)) continue;
      entry.seen += 1;
      if (entry.seen > skip && entry.seen <= skip + times) return fault;
    }
    return {};
  };

  const through = async <T>(call: Call, apply: () => Promise<T>): Promise<T> => {
    if (death.signal.aborted) return never();
    calls.push(call);
    const fault = faultOf(call);
    if (fault.crash === "before") crash();
    if (fault.delayMs !== undefined) await sleep(clock, fault.delayMs);
    if (death.signal.aborted || fault.hang === "before") return never();
    if (fault.error !== undefined) throw fault.error;
    if (fault.drop === "before") throw new LeaseholdError("Unavailable", `${call.name}: the request was lost`);
    const answer = await outcomeOf(apply);
    if (fault.crash === "after") crash();
    if (fault.answerDelayMs !== undefined) await sleep(clock, fault.answerDelayMs);
    if (death.signal.aborted || fault.hang === "after") return never();
    if (fault.drop === "after") throw new LeaseholdError("Unavailable", `${call.name}: the answer was lost`);
    return answer();
  };

  return {
    clock,
    calls,
    queue: mortalQueue(parts.queue, through, death.signal),
    store: mortalStore(parts.items, through),
    fault(on, fault, more = {}) {
      rules.push({ rule: { on, fault, ...more }, seen: 0 });
    },
    heal() {
      rules = [];
    },
    crash,
    get dead() {
      return death.signal.aborted;
    },
    get time() {
      if (parts.clock.controls === undefined)
        throw new Error(`this target plays no time: the case must declare the need "time"`);
      return parts.clock.controls;
    },
  };
}

/** Runs the call, and keeps how it ended for later. */
async function outcomeOf<T>(apply: () => Promise<T>): Promise<() => T> {
  try {
    const answer = await apply();
    return () => answer;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

type Through = <T>(call: Call, apply: () => Promise<T>) => Promise<T>;

function mortalQueue(queue: QueueDriver, through: Through, death: AbortSignal): QueueDriver {
  return {
    ...queue,
    send: (messages, options) => through({ name: "queue.send", args: [messages] }, () => queue.send(messages, options)),
    receive({ signal, ...request }) {
      // Its connection ends with a process.
      const either = signal === undefined ? death : AbortSignal.any([signal, death]);
      return through({ name: "queue.receive", args: [request] }, () => queue.receive({ ...request, signal: either }));
    },
    extend: (extensions) => through({ name: "queue.extend", args: [extensions] }, () => queue.extend(extensions)),
    settle: (settles) =>
      through({ name: `queue.${settles[0]?.verb ?? "settle"}`, args: [settles] }, () => queue.settle(settles)),
    ...(queue.countVisible === undefined
      ? {}
      : {
          countVisible: () =>
            through({ name: "queue.countVisible", args: [] }, async () =>
              (queue.countVisible as () => Promise<number>)(),
            ),
        }),
  };
}

/** The task store of core over the items of this process; each call to the items knows the verb that it serves. */
function mortalStore(items: ItemStore, through: Through): TaskStore {
  const verbs = new AsyncLocalStorage<string>();
  const asked = <T>(
    operation: NonNullable<Call["operation"]>,
    key: string,
    args: readonly unknown[],
    apply: () => Promise<T>,
  ): Promise<T> => through({ name: `store.${verbs.getStore() ?? "none"}`, operation, key, args }, apply);
  const store = createTaskStore({
    items: {
      get: (key) => asked("get", key, [key], () => items.get(key)),
      put: (key, item, condition) => asked("put", key, [key, item, condition], () => items.put(key, item, condition)),
      update: (key, update, condition) =>
        asked("update", key, [key, update, condition], () => items.update(key, update, condition)),
      query: (query) => asked("query", query.partition, [query], () => items.query(query)),
      close: () => items.close(),
    },
  });
  const named = Object.entries(store).map(([verb, method]: [string, unknown]) => [
    verb,
    (...args: unknown[]) => verbs.run(verb, () => (method as (...all: unknown[]) => unknown)(...args)),
  ]);
  return Object.fromEntries(named) as TaskStore;
}

/** A clock whose timers die with the process. */
function mortalClock(clock: Clock, death: AbortSignal): Clock {
  const timers = new Set<Timer>();
  death.addEventListener("abort", () => {
    for (const timer of timers) timer.cancel();
    timers.clear();
  });
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimer(delayMs, callback) {
      if (death.aborted) return { cancel: () => undefined };
      const timer = clock.setTimer(delayMs, () => {
        timers.delete(timer);
        callback();
      });
      timers.add(timer);
      return {
        cancel() {
          timers.delete(timer);
          timer.cancel();
        },
      };
    },
  };
}
