import type { Call } from "./calls.ts";

/** What happens to a call. What is named happens in this order; a call without a fault passes as it is. */
export interface Fault {
  /** The request is under way this long before anything else happens, ms. */
  readonly delayMs?: number;
  /** `before`: the connection breaks and nothing is applied. `after`: it is applied, then the connection breaks. */
  readonly drop?: "before" | "after";
  /** The connection stays open and no answer ever comes. `before`: nothing is applied. `after`: it is applied. */
  readonly hang?: "before" | "after";
  /** Nothing is applied; this is the answer. */
  readonly error?: FaultError;
  /** The call is applied, and its answer is under way this long, ms. */
  readonly answerDelayMs?: number;
}

export interface FaultError {
  /** As the service names it: `RequestThrottled`, `UNAVAILABLE`, `com.microsoft:server-busy`. */
  readonly code: string;
  readonly message?: string;
  /** HTTP status, where there is one. Default: the one that the service uses for this code; 400 for a code that is not known. */
  readonly status?: number;
}

/** A fault and the calls that it hits. */
export interface FaultRule extends Fault {
  /** Default: every operation. */
  readonly operation?: string;
  /** A closer look at the call. Default: every call of the operation. */
  readonly when?: (call: Call) => boolean;
  /** The first call that is hit, counted from when the rule was added and only over calls that it is about; default 1, the next one. */
  readonly nth?: number;
  /** How many calls in a row are hit from there on. Default 1; `Infinity`: all. */
  readonly times?: number;
}

export interface FaultHandle {
  /** How many calls were hit. */
  hits(): number;
  remove(): void;
}

export interface Faults {
  /** How long each request is under way before it is applied, ms; a fault's `delayMs` comes on top. */
  latencyMs: number;
  /** Of several rules that hit one call, the one added first counts; the others take it for one that passed. */
  add(rule: FaultRule): FaultHandle;
  /** Removes all rules. Latency stays. */
  clear(): void;
}

export interface FaultPlan extends Faults {
  /** What happens to a call that arrives now. */
  next(call: Call): Fault | undefined;
}

interface Entry {
  readonly rule: FaultRule;
  seen: number;
  hits: number;
}

export function createFaultPlan(rules: readonly FaultRule[], latencyMs: number): FaultPlan {
  let entries: readonly Entry[] = rules.map(entryOf);
  return {
    latencyMs,
    add(rule) {
      const entry = entryOf(rule);
      entries = [...entries, entry];
      return {
        hits: () => entry.hits,
        remove() {
          entries = entries.filter((other) => other !== entry);
        },
      };
    },
    clear() {
      entries = [];
    },
    next(call) {
      let found: Entry | undefined;
      for (const entry of entries) if (isHit(entry, call)) found ??= entry;
      if (found === undefined) return undefined;
      found.hits++;
      return found.rule;
    },
  };
}

function entryOf(rule: FaultRule): Entry {
  return { rule, seen: 0, hits: 0 };
}

function isHit(entry: Entry, call: Call): boolean {
  const { operation, when, nth = 1, times = 1 } = entry.rule;
  if (operation !== undefined && operation !== call.operation) return false;
  if (when !== undefined && !when(call)) return false;
  entry.seen++;
  return entry.seen >= nth && entry.seen < nth + times;
}
