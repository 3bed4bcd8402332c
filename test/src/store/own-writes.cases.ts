import assert from "node:assert/strict";
import type { Item } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { ItemFault, StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  DAY_MS,
  effect,
  effectsState,
  LEASE_MS,
  leased,
  RECOVER_MS,
  RETENTION_MS,
  type Scene,
  written,
} from "./support.ts";
import { holderVerbs } from "./verbs.ts";

/** A verb, ready to be called, again and again, with the same request. */
interface Prepared {
  readonly call: () => Promise<{ readonly outcome: string; readonly record?: unknown }>;
  /** Keys of the items that the verb may write. */
  readonly keys: readonly string[];
}

interface Verb {
  readonly name: string;
  prepare(harness: StoreHarness): Promise<Prepared>;
}

function keysOf(scene: Scene): readonly string[] {
  return [`task#${scene.taskId}`, `payload#${scene.taskId}#hash-1`, `result#${scene.taskId}#1`];
}

function outside(harness: StoreHarness, scene: Scene) {
  return {
    taskId: scene.taskId,
    at: at(DAY_MS),
    recoverAfterMs: RECOVER_MS,
    retentionMs: RETENTION_MS,
    token: harness.unique("outside"),
  };
}

/** A parked task with an effect that nobody knows about. */
async function parked(harness: StoreHarness): Promise<Scene> {
  const { scene, lease } = await leased(harness);
  const state = effectsState({ publish: effect({ guard: "none" }) });
  written(await harness.store.beginEffect({ ...lease.next({ state }), leaseMs: LEASE_MS, effect: "publish" }));
  written(await harness.store.park({ ...lease.next(), endReason: "unresolved: look" }));
  return scene;
}

const verbs: readonly Verb[] = [
  ...holderVerbs.map(
    (verb): Verb => ({
      name: verb.name,
      async prepare(harness) {
        const { scene, lease } = await leased(harness);
        const write = lease.next();
        return { call: () => verb.call(harness, write, { queue: scene.queue, fence: 1 }), keys: keysOf(scene) };
      },
    }),
  ),
  {
    name: "create",
    async prepare(harness) {
      const scene = createScene(harness);
      const task = scene.newTask();
      return { call: () => harness.store.create(task), keys: keysOf(scene) };
    },
  },
  {
    name: "create with a lease",
    async prepare(harness) {
      const scene = createScene(harness);
      const task = scene.newTask({ lease: { owner: "worker-a", leaseMs: LEASE_MS } });
      return { call: () => harness.store.create(task), keys: keysOf(scene) };
    },
  },
  {
    name: "acquire",
    async prepare(harness) {
      const scene = createScene(harness);
      await scene.create();
      const request = scene.acquireRequest();
      return { call: () => harness.store.acquire(request), keys: keysOf(scene) };
    },
  },
  {
    name: "takeover",
    async prepare(harness) {
      const { scene } = await leased(harness);
      const request = scene.acquireRequest({ at: at(DAY_MS) });
      return { call: () => harness.store.acquire(request), keys: keysOf(scene) };
    },
  },
  {
    name: "cancel of a waiting task",
    async prepare(harness) {
      const scene = createScene(harness);
      await scene.create();
      const request = { ...outside(harness, scene), reason: "not needed" };
      return { call: () => harness.store.cancel(request), keys: keysOf(scene) };
    },
  },
  {
    name: "cancel of a leased task",
    async prepare(harness) {
      const { scene } = await leased(harness);
      const request = { ...outside(harness, scene), reason: "not needed" };
      return { call: () => harness.store.cancel(request), keys: keysOf(scene) };
    },
  },
  {
    name: "cancel of a parked task",
    async prepare(harness) {
      const scene = await parked(harness);
      const request = { ...outside(harness, scene), reason: "not needed" };
      return { call: () => harness.store.cancel(request), keys: keysOf(scene) };
    },
  },
  {
    name: "resume",
    async prepare(harness) {
      const scene = await parked(harness);
      const request = { ...outside(harness, scene), decision: "commit-again", by: "ada" } as const;
      return { call: () => harness.store.resume(request), keys: keysOf(scene) };
    },
  },
  {
    name: "reopen",
    async prepare(harness) {
      const scene = await parked(harness);
      const request = outside(harness, scene);
      return { call: () => harness.store.reopen(request), keys: keysOf(scene) };
    },
  },
  {
    name: "moveCheck",
    async prepare(harness) {
      const scene = createScene(harness);
      const { check_at = "" } = await scene.create();
      const times = { at: at(RECOVER_MS), checkAt: at(2 * RECOVER_MS), sentAt: at(RECOVER_MS) };
      const request = {
        taskId: scene.taskId,
        queue: scene.queue,
        read: { check_at, status: "queued", fence: 0 },
        kind: "waiting",
        ...times,
      } as const;
      const token = harness.unique("check");
      return { call: () => harness.store.moveCheck({ ...request, token }), keys: keysOf(scene) };
    },
  },
  {
    name: "claimKey",
    async prepare(harness) {
      const request = {
        system: "wordpress",
        key: harness.unique("key"),
        owner: { task_id: harness.unique("task"), fence: 1 },
      };
      const call = () => harness.store.claimKey({ ...request, at: at(0), retentionMs: RETENTION_MS });
      return { call, keys: [`key#wordpress#${request.key}`] };
    },
  },
];

/** What a call left behind, without the names that each case makes for itself and without the shards that follow from them. */
async function traceOf(
  harness: StoreHarness,
  prepared: Prepared,
  answer: Awaited<ReturnType<Prepared["call"]>>,
): Promise<unknown> {
  const stored: (Item | undefined)[] = [];
  for (const key of prepared.keys) stored.push(await harness.items.get(key));
  const { outcome, record } = answer;
  const text = JSON.stringify({ outcome, record: sorted(record), stored: stored.map(sorted) });
  return JSON.parse(text.replace(/-[a-z0-9]+-\d+/g, "").replace(/#([wl]?)[0-7]"/g, '#$1"')) as unknown;
}

/** Large results differ by the token that is in them: sorted members, so that two traces can be compared. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

const FAULTS: readonly ItemFault[] = ["request lost", "answer lost", "throttled", "sent twice"];

export const ownWrites: Suite<StoreHarness> = {
  subject: "lost answers",
  cases: verbs.map((verb) => ({
    name: `${verb.name}: the same call again after any of its requests or answers was lost ends as if none had been`,
    needs: ["faults"],
    async run(harness) {
      const undisturbed = await verb.prepare(harness);
      harness.takeCalls();
      const answer = await undisturbed.call();
      const calls = harness.takeCalls();
      const expected = await traceOf(harness, undisturbed, answer);
      assert.ok(calls.length > 0);
      for (const [index, name] of calls.entries()) {
        for (const fault of FAULTS) {
          const prepared = await verb.prepare(harness);
          harness.failNext(name, fault, calls.slice(0, index).filter((one) => one === name).length);
          const place = `${fault}, call ${index + 1} of ${calls.join(", ")}`;
          if (fault !== "sent twice") {
            const code = fault === "throttled" ? "ResourceExhausted" : "Unavailable";
            await assert.rejects(prepared.call(), { code }, place);
          }
          const trace = await traceOf(harness, prepared, await prepared.call());
          assert.deepEqual(trace, expected, place);
        }
      }
    },
  })),
};
