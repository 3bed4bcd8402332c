import { defineEffect, type EffectDefinition } from "@leasehold/core";
import { type Clock, sleep } from "@leasehold/core/driver";

/**
 * The external system: four endpoints, as the systems of the world are. Each keeps what was made in a ledger, so that a
 * second effect shows.
 */
export interface ExternalSystem {
  /** What was made, in order. */
  readonly ledger: readonly LedgerEntry[];
  /** Calls by name: `commit`, `find`. */
  readonly calls: readonly ("commit" | "find")[];
  /** Things that were made under this key, or in all. */
  made(key?: string): number;
  /** An effect on one of the endpoints, as a user defines it. */
  effect(
    kind: EndpointKind,
    options?: Partial<Pick<EffectDefinition, "name" | "guard" | "scope" | "key" | "externalId" | "verify">>,
  ): EffectDefinition<unknown, Thing, Thing>;
  /** How the next calls of this name behave; each behaviour is used once, in order, then all is well again. */
  next(call: "commit" | "find", ...behaviours: readonly Behaviour[]): void;
}

export type EndpointKind =
  /** Honours idempotency keys: the same key again answers the first thing. */
  | "idempotent"
  /** The key is the name: the same name again is refused with a conflict. */
  | "deterministic"
  /** Makes a new thing each time; can be searched by key. */
  | "searchable"
  /** Makes a new thing each time; cannot be read. */
  | "unreadable";

export interface Thing {
  readonly id: string;
  readonly key: string;
  readonly input: unknown;
}
export interface LedgerEntry extends Thing {
  readonly endpoint: EndpointKind;
  /** The fence of the commit that made it. */
  readonly fence: number;
}

export interface Behaviour {
  /** It takes this long, ms, before anything is applied; ends early with the signal unless `deaf`. */
  readonly delayMs?: number;
  /** The request goes on although the caller has given up. */
  readonly deaf?: boolean;
  /** Thrown without applying anything. */
  readonly refuse?: Error;
  /** Applied, then thrown. */
  readonly failAfter?: Error;
  /** Applied, and to be found only this much later, ms. */
  readonly showAfterMs?: number;
  /** Runs before or after it is applied. */
  readonly before?: () => void;
  readonly after?: () => void;
  /** Never answers: applied or not. */
  readonly hang?: "before" | "after";
  /** The answer of `find`, whatever is there. */
  readonly answer?: unknown;
}

const GUARDS = {
  idempotent: "idempotent",
  deterministic: "deterministic-id",
  searchable: "none",
  unreadable: "none",
} as const;

export function createSystem(clock: Clock): ExternalSystem {
  const ledger: (LedgerEntry & { readonly visibleAt: number })[] = [];
  const calls: ("commit" | "find")[] = [];
  const script: Record<"commit" | "find", Behaviour[]> = { commit: [], find: [] };
  const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

  const commit = async (
    endpoint: EndpointKind,
    context: {
      readonly idempotencyKey: string;
      readonly input: unknown;
      readonly fence: number;
      readonly signal: AbortSignal;
    },
  ): Promise<Thing> => {
    calls.push("commit");
    const behaviour = script.commit.shift() ?? {};
    await begin(behaviour, context.signal);
    const there = ledger.find((entry) => entry.endpoint === endpoint && entry.key === context.idempotencyKey);
    if (there !== undefined && endpoint === "deterministic") throw new Error(`409: ${context.idempotencyKey} exists`);
    let thing: LedgerEntry = there as LedgerEntry;
    if (there === undefined || endpoint !== "idempotent") {
      const entry = {
        endpoint,
        id: `thing-${ledger.length + 1}`,
        key: context.idempotencyKey,
        input: context.input,
        fence: context.fence,
        visibleAt: clock.now() + (behaviour.showAfterMs ?? 0),
      };
      ledger.push(entry);
      thing = entry;
    }
    behaviour.after?.();
    if (behaviour.hang === "after") return never();
    if (behaviour.failAfter !== undefined) throw behaviour.failAfter;
    return { id: thing.id, key: thing.key, input: thing.input };
  };

  const find = async (endpoint: EndpointKind, key: string, signal: AbortSignal): Promise<Thing | undefined> => {
    calls.push("find");
    const behaviour = script.find.shift() ?? {};
    await begin(behaviour, signal);
    behaviour.after?.();
    if (behaviour.hang === "after") return never();
    if (behaviour.failAfter !== undefined) throw behaviour.failAfter;
    if ("answer" in behaviour) return behaviour.answer as Thing;
    const found = ledger.find(
      (entry) => entry.endpoint === endpoint && entry.key === key && entry.visibleAt <= clock.now(),
    );
    return found === undefined ? undefined : { id: found.id, key: found.key, input: found.input };
  };

  const begin = async (behaviour: Behaviour, signal: AbortSignal): Promise<void> => {
    behaviour.before?.();
    if (behaviour.hang === "before") return never();
    if (behaviour.delayMs !== undefined)
      await sleep(clock, behaviour.delayMs, behaviour.deaf === true ? undefined : signal);
    if (signal.aborted && behaviour.deaf !== true) throw signal.reason;
    if (behaviour.refuse !== undefined) throw behaviour.refuse;
  };

  return {
    ledger,
    calls,
    made: (key) => ledger.filter((entry) => key === undefined || entry.key === key).length,
    effect(kind, options = {}) {
      return defineEffect<unknown, Thing, Thing>({
        name: "publish",
        externalSystem: "blog",
        guard: GUARDS[kind],
        commit: (context) => commit(kind, context),
        externalId: (answer) => answer.id,
        find: kind === "unreadable" ? null : ({ idempotencyKey, signal }) => find(kind, idempotencyKey, signal),
        verify: (thing) => ({ externalId: thing.id, status: "published" }),
        ...options,
      });
    },
    next(call, ...behaviours) {
      script[call].push(...behaviours);
    },
  };
}
