import { BUDGETS_MS, ENDPOINTS } from "../definitions.ts";
import type {
  CommitCall,
  CommitOutcome,
  EndpointKind,
  Entry,
  ExternalCall,
  ExternalObserver,
  Shown,
} from "../external.ts";
import type { Host } from "../host.ts";
import { type ModelContext, ownerOfKey, type TaskState } from "./state.ts";

/** What one process has seen of one key since a time. */
export interface Evidence {
  readonly foundIds: ReadonlySet<string>;
  readonly answeredIds: ReadonlySet<string>;
  readonly answered: boolean;
  /** A readback said that it is not there. */
  readonly absent: boolean;
  readonly notSent: boolean;
  /** A commit was called. */
  readonly called: boolean;
}

export interface EvidenceBook {
  of(host: string, key: string, since: number): Evidence;
}

interface Sight {
  readonly at: number;
  readonly what: "found" | "answered" | "absent" | "not_sent" | "unclear" | "called";
  readonly id?: string;
}

/** Watches the external system: what was asked of it, and what it told whom. */
export function createEffectChecks(context: ModelContext): {
  readonly observer: ExternalObserver;
  readonly evidence: EvidenceBook;
} {
  const { fail, tasks, log, now } = context;
  const sights = new Map<string, Sight[]>();
  /** Commits by key: how many were called, how many of them said that nothing was sent. */
  const commits = new Map<string, { called: number; notSent: number }>();

  function see(host: Host, key: string, sight: Omit<Sight, "at">): void {
    const place = `${host.name} ${key}`;
    const seen = sights.get(place);
    if (seen === undefined) sights.set(place, [{ at: now(), ...sight }]);
    else seen.push({ at: now(), ...sight });
  }

  const evidence: EvidenceBook = {
    of(host, key, since) {
      const seen = (sights.get(`${host} ${key}`) ?? []).filter((sight) => sight.at >= since);
      const ids = (what: Sight["what"]) =>
        new Set(seen.filter((sight) => sight.what === what).map((sight) => sight.id as string));
      const has = (what: Sight["what"]) => seen.some((sight) => sight.what === what);
      return {
        foundIds: ids("found"),
        answeredIds: ids("answered"),
        answered: has("answered"),
        absent: has("absent"),
        notSent: has("not_sent"),
        called: has("called"),
      };
    },
  };

  /** The tasks for which this process may touch the key now. */
  function holders(host: Host, key: string): { readonly state: TaskState; readonly slot: string }[] {
    const owner = ownerOfKey(key);
    if (owner !== undefined) {
      const state = tasks.get(owner.taskId);
      return state === undefined ? [] : [{ state, slot: owner.slot }];
    }
    const found: { state: TaskState; slot: string }[] = [];
    for (const state of tasks.values()) {
      if (state.holder?.host !== host || state.record.status !== "leased") continue;
      // An owner's intent is read back before this task has one of its own.
      if (state.record.task_type === "share") found.push({ state, slot: "shared" });
    }
    return found;
  }

  function claim(host: Host, call: ExternalCall, stage: "commit" | "verify"): void {
    for (const { state, slot } of holders(host, call.key)) {
      if (state.holder?.host === host) state.claims.set(slot, now() + BUDGETS_MS[stage]);
    }
  }

  function commitCalled(host: Host, call: CommitCall): void {
    const { key, fence } = call;
    log("commit", host.name, key, fence);
    const count = commits.get(key) ?? { called: 0, notSent: 0 };
    commits.set(key, count);
    const begun = holders(host, key).filter(({ state, slot }) => state.begun.has(`${fence} ${slot}`));
    const [one] = begun;
    if (one === undefined) {
      fail(2, `${key}: ${host.name} commits under fence ${fence}, and no begin of that fence is in the record`);
    } else {
      const { state, slot } = one;
      const leaseEnd = state.begun.get(`${fence} ${slot}`) as number;
      if (host.clock.now() >= leaseEnd)
        fail(7, `${key}: ${host.name} commits under fence ${fence} although its own clock says that the lease is over`);
      const mayBeThere = count.called > count.notSent;
      const readBack =
        evidence.of(host.name, key, state.holder?.at ?? 0).absent || state.begunAfterFailed.has(`${fence} ${slot}`);
      const allowed = 1 + count.notSent + (state.permissions.get(slot) ?? 0);
      if (ENDPOINTS[call.endpoint]?.guard === "none") {
        if (count.called + 1 > allowed)
          fail(5, `${key}: commit ${count.called + 1}, and people and failures before sending allow ${allowed}`);
      } else if (mayBeThere && !readBack && state.holder?.host === host) {
        fail(4, `${key}: ${host.name} commits again under fence ${fence} without having read that it is not there`);
      }
    }
    count.called += 1;
    see(host, key, { what: "called" });
    claim(host, call, "commit");
  }

  return {
    evidence,
    observer: {
      commitCalled,
      commitEnded(host: Host, call: CommitCall, outcome: CommitOutcome, shown: Shown | undefined) {
        log("commit ended", host.name, call.key, outcome, shown?.id ?? "");
        const count = commits.get(call.key);
        if (outcome === "not_sent" && count !== undefined) count.notSent += 1;
        if (outcome === "answered")
          see(host, call.key, { what: "answered", ...(shown === undefined ? {} : { id: shown.id }) });
        else see(host, call.key, { what: outcome === "not_sent" ? "not_sent" : "unclear" });
        claim(host, call, "verify");
      },
      applied(entry: Entry, earlier: readonly Entry[], kind: EndpointKind) {
        log("applied", entry.key, entry.id);
        if (earlier.length > 0 && kind !== "plain" && context.inBounds)
          fail(4, `${entry.key}: visible ${earlier.length + 1} times`);
      },
      findCalled(host: Host, call: ExternalCall) {
        claim(host, call, "verify");
      },
      findEnded(host: Host, call: ExternalCall, shown: Shown | undefined | "failed") {
        log("found", host.name, call.key, shown === undefined ? "nothing" : shown === "failed" ? "unclear" : shown.id);
        if (shown === "failed") see(host, call.key, { what: "unclear" });
        else if (shown === undefined) see(host, call.key, { what: "absent" });
        else see(host, call.key, { what: "found", id: shown.id });
      },
    },
  };
}
