import type { Holding } from "./holdings.ts";

/**
 * The end from outside of what was taken in together, by one `run` or by one call of `handle`: of the tasks that are held when it
 * comes, and of those whose acquire was under way then.
 */
export interface Shutdown {
  /** Asked to stop: what has not been acquired yet need not be. */
  readonly begun: boolean;
  /** A task was acquired; ends it as far as the others were. */
  started(holding: Holding): void;
  /** Asks the handlers to stop. */
  abort(): void;
  /** Handlers that ignore their signal: what can be given back is, the rest runs out. Resolves when the broker was told. */
  giveUp(): Promise<void>;
  /** Nothing is written or extended from here on. */
  lose(): void;
}

/** `held`: what it ends; by default the tasks that were started under it. */
export function createShutdown(held?: () => Iterable<Holding>): Shutdown {
  const own: Holding[] = [];
  const reached = (): readonly Holding[] => [...(held?.() ?? own)];
  let step: "none" | "aborted" | "given_up" = "none";

  const abort = (holding: Holding): void => holding.lease.abort("shutdown");

  return {
    get begun() {
      return step !== "none";
    },
    started(holding) {
      if (held === undefined) own.push(holding);
      if (step !== "none") abort(holding);
      if (step === "given_up") holding.giveUp();
    },
    abort() {
      if (step === "none") step = "aborted";
      for (const holding of reached()) abort(holding);
    },
    async giveUp() {
      step = "given_up";
      const left = reached();
      for (const holding of left) {
        abort(holding);
        holding.giveUp();
      }
      await Promise.all(left.map((holding) => holding.ended));
    },
    lose() {
      step = "given_up";
      for (const holding of reached()) holding.lease.lose("shutdown");
    },
  };
}
