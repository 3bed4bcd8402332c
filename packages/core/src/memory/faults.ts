import { type Clock, sleep } from "../clock.ts";
import { LeaseholdError } from "../errors.ts";

/** One call of something that is wrapped. */
export interface FaultyCall {
  /** The name of the method: `receive`, `update`; of a nested one `deadLetters.look`. */
  readonly name: string;
  /** How many calls of this name came before. */
  readonly index: number;
  readonly args: readonly unknown[];
}

/** What happens to a call. What is named happens in this order; nothing named: the call passes as it is. */
export interface Fault {
  /** The request is under way this long, ms. */
  readonly delayMs?: number;
  /** The call is not passed on; this is thrown instead. */
  readonly error?: LeaseholdError;
  /** `before`: the request never arrives. `after`: it is applied, and the answer never arrives. Both throw `Unavailable`. */
  readonly drop?: "before" | "after";
  /** `before`: nothing is applied. `after`: the call is applied. Either way it never ends, as for a process that died in it. */
  readonly hang?: "before" | "after";
  /** The call is applied twice, one after the other, and this answer is given. */
  readonly twice?: "first" | "second";
  /** The answer is under way this long, ms. */
  readonly answerDelayMs?: number;
}

/** Says what happens to a call; `undefined`: nothing. It must depend on nothing but its parameter and its own state. */
export type FaultScript = (call: FaultyCall) => Fault | undefined;

type AnyFunction = (...args: readonly unknown[]) => unknown;

/**
 * Wraps a driver or a store (any object of asynchronous methods), so that a script decides what becomes of each call. Delays
 * go by `clock`: on the clock of a process that stands still or was killed, an answer arrives late or never.
 */
export function withFaults<T extends object>(target: T, clock: Clock, script: FaultScript): T {
  const indexes = new Map<string, number>();

  function wrap(name: string, method: AnyFunction, self: object): AnyFunction {
    return (...args) => {
      const index = indexes.get(name) ?? 0;
      indexes.set(name, index + 1);
      const fault = script({ name, index, args });
      const call = async (): Promise<unknown> => method.apply(self, [...args]);
      return fault === undefined ? call() : faulty(name, call, fault, clock);
    };
  }

  function wrapAll(object: object, prefix: string): object {
    const members = Object.entries(object).map(([name, member]: [string, unknown]) => {
      if (typeof member === "function") return [name, wrap(prefix + name, member as AnyFunction, object)];
      return [name, hasMethods(member) ? wrapAll(member, `${prefix}${name}.`) : member];
    });
    return Object.fromEntries(members) as object;
  }

  return wrapAll(target, "") as T;
}

function hasMethods(member: unknown): member is object {
  return (
    typeof member === "object" && member !== null && Object.values(member).some((value) => typeof value === "function")
  );
}

async function faulty(name: string, call: () => Promise<unknown>, fault: Fault, clock: Clock): Promise<unknown> {
  if (fault.delayMs !== undefined) await sleep(clock, fault.delayMs);
  if (fault.error !== undefined) throw fault.error;
  if (fault.drop === "before") throw dropped(name, "the request was lost");
  if (fault.hang === "before") return new Promise(() => {});
  const answer = await answered(call, fault);
  if (fault.answerDelayMs !== undefined) await sleep(clock, fault.answerDelayMs);
  if (fault.drop === "after") throw dropped(name, "the answer was lost");
  if (fault.hang === "after") return new Promise(() => {});
  return answer;
}

async function answered(call: () => Promise<unknown>, fault: Fault): Promise<unknown> {
  if (fault.twice === undefined) return call();
  const [first, second] = [await outcome(call), await outcome(call)];
  return fault.twice === "first" ? first() : second();
}

/** Makes the call, and keeps how it ended for later. */
async function outcome(call: () => Promise<unknown>): Promise<() => unknown> {
  try {
    const answer = await call();
    return () => answer;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function dropped(name: string, what: string): LeaseholdError {
  return new LeaseholdError("Unavailable", `${name}: ${what}`);
}
