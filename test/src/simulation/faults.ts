import { hashText, numberAt } from "./random.ts";

/** What can become of one call from a process to the store's items or to the broker. */
export const CALL_FAULTS = [
  /** The request is under way for long, perhaps for longer than a lease. */
  "slow_request",
  /** The answer is. */
  "slow_answer",
  /** It never arrives; the caller gets an error. */
  "drop_request",
  /** It is applied; the caller gets an error. */
  "drop_answer",
  /** It is applied and answered, and applied once more later, after newer ones. */
  "late_repeat",
  /** It is refused with a transient error. */
  "transient_error",
  /** The process stands still from the call on: what came meanwhile meets it in one burst. */
  "stall_in_call",
  /** The process dies in the call; its request arrives nevertheless, or does not. */
  "crash_in_call",
  /** The process dies after it was applied. */
  "crash_after_call",
] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

/** What the external system can do to one call. */
export const SYSTEM_FAULTS = [
  /** The answer is late, perhaps later than the lease. */
  "system_slow",
  /** Nothing was sent: `NotCommittedError`. */
  "system_not_sent",
  /** It fails and did nothing. */
  "system_failed",
  /** It fails and was applied. */
  "system_applied_and_failed",
  /** It fails, and is applied some time after that. */
  "system_lands_late",
  /** What it took is shown only later. */
  "system_shows_late",
  /** It is there, but not yet as it should be. */
  "system_pending",
  /** A readback fails. */
  "system_unreadable",
] as const;
export type SystemFault = (typeof SYSTEM_FAULTS)[number];

/** What can happen to a process, to a message, or by a person's hand, at a time. */
export const ACTS = [
  "crash",
  "pause",
  "suspend",
  "jump",
  "deploy",
  "message_lost",
  "message_doubled",
  "message_expired",
  "message_buried",
  "redrive_by_hand",
  "person_cancels",
  "person_reopens",
  "person_resumes",
  "enqueued_again",
  /** A holder that uses the store as no worker does, and has to be refused. */
  "careless_holder",
] as const;
export type ActKind = (typeof ACTS)[number];

/** What happens to a delivery between broker and consumer. */
export const DELIVERY_FAULTS = ["delivery_late", "delivery_again"] as const;

export const FAULT_KINDS = [...CALL_FAULTS, ...SYSTEM_FAULTS, ...DELIVERY_FAULTS, ...ACTS] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export type Rates = Readonly<Partial<Record<FaultKind, number>>>;

/** One fault that happened. Its id names the place, so that it can be left out of a repeat. */
export interface Fired {
  readonly id: string;
  readonly kind: FaultKind;
  readonly atMs: number;
}

/** One place where faults can happen, again and again. */
export interface FaultPlace {
  /** What happens this time, and how much of it, 0 to 1. */
  next(): { readonly kind?: FaultKind; readonly size: number };
}

export interface Injector {
  /** A place, by name, at which these kinds can happen. */
  place(name: string, kinds: readonly FaultKind[]): FaultPlace;
  /** Notes an act of the plan; false: it is left out. */
  act(id: string, kind: FaultKind): boolean;
  /** From here on nothing goes wrong any more. */
  stop(): void;
  readonly fired: readonly Fired[];
}

export interface InjectorOptions {
  readonly seed: number;
  readonly rates: Rates;
  /** Ids of faults that do not happen. */
  readonly without: ReadonlySet<string>;
  readonly now: () => number;
}

export function createInjector({ seed, rates, without, now }: InjectorOptions): Injector {
  const fired: Fired[] = [];
  const indexes = new Map<string, number>();
  let running = true;

  function fires(id: string, kind: FaultKind): boolean {
    if (!running || without.has(id)) return false;
    fired.push({ id, kind, atMs: now() });
    return true;
  }

  return {
    place(name, kinds) {
      const hash = hashText(name, hashText(`fault ${seed}`));
      const sizes = hash ^ 0x5bd1e995;
      const enabled = kinds.filter((kind) => (rates[kind] ?? 0) > 0);
      return {
        next() {
          const index = indexes.get(name) ?? 0;
          indexes.set(name, index + 1);
          const size = numberAt(sizes, index);
          let left = numberAt(hash, index);
          for (const kind of enabled) {
            left -= rates[kind] as number;
            if (left < 0) return fires(`${name}/${index}`, kind) ? { kind, size } : { size };
          }
          return { size };
        },
      };
    },
    act: (id, kind) => fires(id, kind),
    stop() {
      running = false;
    },
    fired,
  };
}
