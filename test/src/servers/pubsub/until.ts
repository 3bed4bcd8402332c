import { setTimeout as sleep } from "node:timers/promises";

/** Resolves once it holds, however long that takes. Rejects when the bench is closed, so that a check that failed leaves no loop. */
export type Until = (condition: () => boolean) => Promise<void>;

/** Between two looks, ms. */
const LOOK_MS = 5;

export function createUntil(closed: AbortSignal): Until {
  return async (condition) => {
    while (!condition()) await sleep(LOOK_MS, undefined, { signal: closed });
  };
}
