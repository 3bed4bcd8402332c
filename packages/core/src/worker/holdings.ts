import type { HeldDelivery } from "./deliveries.ts";
import type { Lease } from "./lease.ts";

/** A task whose lease this process holds, with every delivery that is about it. */
export interface Holding {
  readonly taskId: string;
  readonly lease: Lease;
  readonly orderingKey: string | undefined;
  /** Live deliveries by broker message id; all are extended with the lease. */
  readonly deliveries: Map<string, HeldDelivery>;
  /** Resolves when the lease has ended and the broker was told. */
  readonly ended: Promise<void>;
  /** The process stops and the handler does not: the lease is ended now, or left to lapse. */
  giveUp(): void;
  /** Gives a further delivery the terms of this lease. */
  adopt(held: HeldDelivery): void;
}

/** What this process holds, by task; and one acquire per task at a time. */
export interface Holdings {
  get(taskId: string): Holding | undefined;
  set(holding: Holding): void;
  remove(holding: Holding): void;
  all(): Iterable<Holding>;
  readonly size: number;
  /** Runs what touches one task one after the other. */
  exclusive<T>(taskId: string, work: () => Promise<T>): Promise<T>;
}

export function createHoldings(): Holdings {
  const held = new Map<string, Holding>();
  const turns = new Map<string, Promise<unknown>>();
  return {
    get: (taskId) => held.get(taskId),
    set: (holding) => void held.set(holding.taskId, holding),
    remove(holding) {
      if (held.get(holding.taskId) === holding) held.delete(holding.taskId);
    },
    all: () => held.values(),
    get size() {
      return held.size;
    },
    async exclusive(taskId, work) {
      const before = turns.get(taskId);
      const turn = before === undefined ? work() : before.then(work, work);
      turns.set(taskId, turn);
      try {
        return await turn;
      } finally {
        if (turns.get(taskId) === turn) turns.delete(taskId);
      }
    },
  };
}
