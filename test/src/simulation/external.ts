import { NotCommittedError } from "@leasehold/core";
import type { ProcessClock } from "@leasehold/core/memory";
import { type FaultPlace, type Injector, SYSTEM_FAULTS, type SystemFault } from "./faults.ts";
import type { Host } from "./host.ts";
import { slowMs } from "./wire.ts";

/** How an endpoint treats a second commit of one key. */
export type EndpointKind =
  /** It honours keys. */
  | "idempotent"
  /** It honours a key for a time. */
  | "windowed"
  /** The key is a name: there can be only one. */
  | "named"
  /** It makes another. */
  | "plain";

/** One thing that an endpoint has made. */
export interface Entry {
  readonly id: string;
  readonly endpoint: string;
  readonly key: string;
  readonly appliedAt: number;
  readonly visibleAt: number;
  readonly readyAt: number;
}

/** What the system tells of it. */
export interface Shown {
  readonly id: string;
  /** It is as it should be. */
  readonly ready: boolean;
}

export type CommitOutcome = "answered" | "not_sent" | "failed";

/** What is told about each call, from the true time of it. */
export interface ExternalObserver {
  commitCalled(host: Host, call: CommitCall): void;
  commitEnded(host: Host, call: CommitCall, outcome: CommitOutcome, shown: Shown | undefined): void;
  applied(entry: Entry, earlier: readonly Entry[], kind: EndpointKind): void;
  findCalled(host: Host, call: ExternalCall): void;
  findEnded(host: Host, call: ExternalCall, shown: Shown | undefined | "failed"): void;
}

export interface ExternalCall {
  readonly endpoint: string;
  readonly kind: EndpointKind;
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface CommitCall extends ExternalCall {
  readonly fence: number;
}

/** The external system: a world of its own, which no crash of a process touches. */
export interface External {
  commit(host: Host, call: CommitCall): Promise<Shown>;
  find(host: Host, call: ExternalCall): Promise<Shown | undefined>;
  /** What is there under a key, whether it is shown already or not. */
  entries(key: string): readonly Entry[];
  /** Commits of this key that were sent and have not arrived. */
  inFlight(key: string): number;
}

/** How long `windowed` honours a key, ms; and how much longer it really does: the longest that a commit is under way. */
export const WINDOW_MS = 8_000;
export const LATEST_LANDING_MS = 6_000;
const GIVES_UP_AFTER_MS = 800;

const COMMIT_FAULTS = SYSTEM_FAULTS.filter((kind) => kind !== "system_unreadable");
const FIND_FAULTS = SYSTEM_FAULTS.filter((kind) => kind === "system_unreadable" || kind === "system_slow");

export function createExternal(options: {
  readonly network: ProcessClock;
  readonly injector: Injector;
  readonly now: () => number;
  readonly observer: ExternalObserver;
}): External {
  const { network, injector, now, observer } = options;
  const ledger = new Map<string, Entry[]>();
  const flying = new Map<string, number>();
  let made = 0;
  const places = new Map<string, FaultPlace>();

  function placeOf(name: string, kinds: readonly SystemFault[]): FaultPlace {
    let place = places.get(name);
    if (place === undefined) {
      place = injector.place(name, kinds);
      places.set(name, place);
    }
    return place;
  }

  /** What the system does with a commit that has arrived. */
  function apply(call: ExternalCall, showMs: number, readyMs: number): Entry | "conflict" {
    const entries = ledger.get(call.key) ?? [];
    const [first] = entries;
    const time = now();
    if (first !== undefined) {
      if (call.kind === "named") return "conflict";
      if (call.kind === "idempotent") return first;
      if (call.kind === "windowed" && time - first.appliedAt <= WINDOW_MS + LATEST_LANDING_MS) return first;
    }
    const entry = {
      id: `${call.endpoint}-${++made}`,
      endpoint: call.endpoint,
      key: call.key,
      appliedAt: time,
      visibleAt: time + showMs,
      readyAt: time + showMs + readyMs,
    };
    observer.applied(entry, entries, call.kind);
    ledger.set(call.key, [...entries, entry]);
    return entry;
  }

  const shownOf = (entry: Entry): Shown => ({ id: entry.id, ready: entry.readyAt <= now() });

  function fly(key: string, change: number): void {
    flying.set(key, (flying.get(key) ?? 0) + change);
  }

  /** The answer, by the clock of the process. A caller that heeds its signal gives up when it aborts. */
  function answer<T>(
    host: Host,
    signal: AbortSignal,
    heeds: boolean,
    start: (
      settle: (step: () => void, afterMs: number) => void,
      resolve: (value: T) => void,
      reject: (error: unknown) => void,
    ) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (heeds) {
        const onAbort = (): void => reject(signal.reason);
        if (signal.aborted) onAbort();
        else signal.addEventListener("abort", onAbort, { once: true });
      }
      start((step, afterMs) => void host.clock.setTimer(afterMs, step), resolve, reject);
    });
  }

  return {
    commit(host, call) {
      if (!host.alive) return new Promise(() => undefined);
      observer.commitCalled(host, call);
      const { kind, size } = placeOf(`commit.${call.key}`, COMMIT_FAULTS).next();
      const ended = (outcome: CommitOutcome, shown?: Shown): void => observer.commitEnded(host, call, outcome, shown);
      return answer<Shown>(host, call.signal, size > 0.4, (settle, resolve, reject) => {
        const fail = (afterMs: number, outcome: CommitOutcome, error: Error): void =>
          settle(() => {
            ended(outcome);
            reject(error);
          }, afterMs);
        if (kind === "system_not_sent") return fail(5, "not_sent", new NotCommittedError("the connection was refused"));
        if (kind === "system_failed") return fail(20, "failed", new Error("500"));
        const landsMs =
          kind === "system_lands_late"
            ? GIVES_UP_AFTER_MS + size * (LATEST_LANDING_MS - GIVES_UP_AFTER_MS)
            : 5 + ((size * 100) % 20);
        const showMs = kind === "system_shows_late" ? 200 + size * 5_000 : 0;
        const readyMs = kind === "system_pending" ? 200 + size * 5_000 : 0;
        fly(call.key, 1);
        network.setTimer(landsMs, () => {
          fly(call.key, -1);
          const entry = apply(call, showMs, readyMs);
          if (kind === "system_lands_late") return;
          const answerMs = kind === "system_slow" ? slowMs(size) : 5;
          if (kind === "system_applied_and_failed") fail(answerMs, "failed", new Error("502"));
          else if (entry === "conflict") fail(answerMs, "failed", new Error("409: the name is taken"));
          else
            settle(() => {
              const shown = shownOf(entry);
              ended("answered", shown);
              resolve(shown);
            }, answerMs);
        });
        if (kind === "system_lands_late") fail(GIVES_UP_AFTER_MS, "failed", new Error("no answer"));
      });
    },
    find(host, call) {
      if (!host.alive) return new Promise(() => undefined);
      observer.findCalled(host, call);
      const { kind, size } = placeOf(`find.${call.key}`, FIND_FAULTS).next();
      return answer<Shown | undefined>(host, call.signal, size > 0.4, (settle, resolve, reject) => {
        network.setTimer(4 + ((size * 100) % 20), () => {
          const entry = (ledger.get(call.key) ?? []).find((one) => one.visibleAt <= now());
          const shown = entry === undefined ? undefined : shownOf(entry);
          settle(
            () => {
              observer.findEnded(host, call, kind === "system_unreadable" ? "failed" : shown);
              if (kind === "system_unreadable") reject(new Error("503"));
              else resolve(shown);
            },
            kind === "system_slow" ? slowMs(size) : 4,
          );
        });
      });
    },
    entries: (key) => ledger.get(key) ?? [],
    inFlight: (key) => flying.get(key) ?? 0,
  };
}
