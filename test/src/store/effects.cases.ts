import assert from "node:assert/strict";
import type { EffectState } from "@leasehold/core";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  effect,
  effectsState,
  expectInvalid,
  type Held,
  LEASE_MS,
  leased,
  MINUTE_MS,
  RECOVER_MS,
  RETENTION_MS,
  receiptOf,
  type Scene,
  SECOND_MS,
  timeAt,
  written,
} from "./support.ts";

type Effects = Readonly<Record<string, EffectState>>;

function begin({ store }: StoreHarness, lease: Held, slot: string, effects: Effects) {
  return store.beginEffect({ ...lease.next({ state: effectsState(effects) }), leaseMs: LEASE_MS, effect: slot });
}

function record({ store }: StoreHarness, lease: Held, slot: string, effects: Effects) {
  const write = { ...lease.next({ state: effectsState(effects) }), leaseMs: LEASE_MS, effect: slot };
  switch (effects[slot]?.state) {
    case "committed":
      return store.recordCommitted(write);
    case "failed":
      return store.recordFailed(write);
    default:
      return store.recordReceipt(write);
  }
}

/** Parks the task and resumes it with a permission to commit this effect again; answers the lease that follows. */
async function resumeToCommitAgain(harness: StoreHarness, scene: Scene, lease: Held, slot: string): Promise<Held> {
  written(await harness.store.park({ ...lease.next(), endReason: "unresolved: look" }));
  const request = {
    taskId: scene.taskId,
    at: at(MINUTE_MS),
    recoverAfterMs: RECOVER_MS,
    retentionMs: RETENTION_MS,
    token: harness.unique("resume"),
  };
  written(await harness.store.resume({ ...request, decision: "commit-again", effect: slot, by: "ada" }));
  return scene.acquire({ at: at(2 * MINUTE_MS) });
}

export const effects: Suite<StoreHarness> = {
  subject: "effects",
  cases: [
    {
      name: "begin writes the intent, stage commit and a full new lease; the outcome follows",
      async run(harness) {
        const { lease } = await leased(harness);
        const begun = written(await begin(harness, lease, "publish", { publish: effect() }));
        assert.deepEqual([begun.stage, begun.open_effects], ["commit", 1]);
        assert.deepEqual(begun.effects, { publish: effect() });
        assert.equal(begun.lease_expires_at, timeAt(2 * SECOND_MS + LEASE_MS));

        const committed = effect({ state: "committed", external_id: "2451" });
        const answered = written(await record(harness, lease, "publish", { publish: committed }));
        assert.deepEqual([answered.open_effects, answered.effects], [1, { publish: committed }]);
        assert.equal(answered.lease_expires_at, timeAt(3 * SECOND_MS + LEASE_MS));

        const verified = effect({ state: "verified", external_id: "2451", receipt: receiptOf(lease.record.task_id) });
        const done = written(await record(harness, lease, "publish", { publish: verified }));
        assert.deepEqual([done.open_effects, done.effects], [0, { publish: verified }]);
        assert.equal(done.lease_expires_at, timeAt(4 * SECOND_MS + LEASE_MS));
      },
    },
    {
      name: "an effect without guard is begun once in an attempt",
      async run(harness) {
        for (const state of ["started", "committed"] as const) {
          const { scene, lease } = await leased(harness);
          written(await begin(harness, lease, "publish", { publish: effect({ guard: "none" }) }));
          if (state === "committed")
            written(await record(harness, lease, "publish", { publish: effect({ guard: "none", state }) }));
          const before = await scene.record();
          const again = await begin(harness, lease, "publish", { publish: effect({ guard: "none", begins: 2 }) });
          assert.deepEqual(again, { outcome: "refused", record: before }, state);
          assert.deepEqual(await scene.record(), before, state);
        }
      },
    },
    {
      name: "an effect without guard is not begun again by a later attempt",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(await begin(harness, lease, "publish", { publish: effect({ guard: "none" }) }));
        const second = await scene.acquire({ at: at(10 * MINUTE_MS) });
        const again = await begin(harness, second, "publish", {
          publish: effect({ guard: "none", fence: 2, begins: 2 }),
        });
        assert.equal(again.outcome, "refused");
        assert.deepEqual((await scene.record()).effects, { publish: effect({ guard: "none" }) });
      },
    },
    {
      name: "an effect that certainly failed may begin again under any guard",
      async run(harness) {
        for (const guard of ["none", "idempotent", "deterministic-id"] as const) {
          const { lease } = await leased(harness);
          written(await begin(harness, lease, "publish", { publish: effect({ guard }) }));
          const failed = written(
            await record(harness, lease, "publish", { publish: effect({ guard, state: "failed" }) }),
          );
          assert.equal(failed.open_effects, 0, guard);
          written(await begin(harness, lease, "publish", { publish: effect({ guard, begins: 2 }) }));
        }
      },
    },
    {
      name: "an effect with a guard may begin again while it is open",
      async run(harness) {
        for (const guard of ["idempotent", "deterministic-id"] as const) {
          const { lease } = await leased(harness);
          written(await begin(harness, lease, "publish", { publish: effect({ guard }) }));
          written(await begin(harness, lease, "publish", { publish: effect({ guard, begins: 2 }) }));
        }
      },
    },
    {
      name: "a receipt is never replaced by an intent, whatever the guard",
      async run(harness) {
        for (const guard of ["none", "idempotent", "deterministic-id"] as const) {
          const { scene, lease } = await leased(harness);
          const verified = effect({ guard, state: "verified", receipt: receiptOf(scene.taskId) });
          written(await record(harness, lease, "publish", { publish: verified }));
          const again = await begin(harness, lease, "publish", { publish: effect({ guard, begins: 2 }) });
          assert.equal(again.outcome, "refused", guard);
          assert.deepEqual((await scene.record()).effects, { publish: verified }, guard);
        }
      },
    },
    {
      name: "effects of several items stand side by side, whatever their names",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const slots = ["mail", "mail:a.b", "mail:a", "mail:a#1", "x".repeat(190)];
        const all: Record<string, EffectState> = {};
        for (const slot of slots) {
          all[slot] = effect({ guard: "none", key: slot });
          written(await begin(harness, lease, slot, all));
          assert.equal((await begin(harness, lease, slot, all)).outcome, "refused", slot);
        }
        assert.deepEqual((await scene.record()).effects, all);
        assert.equal((await scene.record()).open_effects, slots.length);
      },
    },
    {
      name: "a permission to commit again is good for one begin of its effect",
      async run(harness) {
        for (const guard of ["none", "idempotent"] as const) {
          const { scene, lease } = await leased(harness);
          written(await begin(harness, lease, "publish", { publish: effect({ guard }) }));
          const second = await resumeToCommitAgain(harness, scene, lease, "publish");
          assert.equal(second.record.allow_commit, 1, guard);
          const begun = written(
            await begin(harness, second, "publish", { publish: effect({ guard, fence: 2, begins: 2 }) }),
          );
          assert.equal(begun.allow_commit, undefined, guard);
          assert.equal((await scene.record()).allow_commit, undefined, guard);
          const third = await begin(harness, second, "publish", { publish: effect({ guard, fence: 2, begins: 3 }) });
          assert.equal(third.outcome, guard === "none" ? "refused" : "written", guard);
        }
      },
    },
    {
      name: "a begin of another effect leaves the permission where it is",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const open = { publish: effect({ guard: "none" }), notify: effect({ guard: "none", key: "notify" }) };
        written(await begin(harness, lease, "publish", { publish: open.publish }));
        written(await begin(harness, lease, "notify", open));
        const second = await resumeToCommitAgain(harness, scene, lease, "publish");
        assert.equal(
          (await begin(harness, second, "notify", open)).outcome,
          "refused",
          "the permission is not for this one",
        );
        const more = { ...open, log: effect({ key: "log" }) };
        assert.equal(written(await begin(harness, second, "log", more)).allow_commit, 1);
        written(await begin(harness, second, "publish", more));
      },
    },
    {
      name: "a permission does not replace a receipt",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(await begin(harness, lease, "publish", { publish: effect({ guard: "none" }) }));
        const second = await resumeToCommitAgain(harness, scene, lease, "publish");
        const verified = effect({ guard: "none", state: "verified", receipt: receiptOf(scene.taskId) });
        written(await record(harness, second, "publish", { publish: verified }));
        assert.equal(
          (await begin(harness, second, "publish", { publish: effect({ guard: "none" }) })).outcome,
          "refused",
        );
        assert.deepEqual((await scene.record()).effects, { publish: verified });
      },
    },
    {
      name: "a begin under a permission whose answer was lost is found again",
      needs: ["faults"],
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(await begin(harness, lease, "publish", { publish: effect({ guard: "none" }) }));
        const second = await resumeToCommitAgain(harness, scene, lease, "publish");
        const write = {
          ...second.next({ state: effectsState({ publish: effect({ guard: "none", begins: 2 }) }) }),
          leaseMs: LEASE_MS,
          effect: "publish",
        };
        harness.failNext("update", "answer lost", 1);
        await assert.rejects(harness.store.beginEffect(write), { code: "Unavailable" });
        assert.equal(written(await harness.store.beginEffect(write)).effects["publish"]?.begins, 2);
        assert.equal((await scene.record()).allow_commit, undefined);
      },
    },
    {
      name: "a verb that the written state contradicts is refused by the name of the field",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const { store } = harness;
        const write = (all: Effects) => ({
          ...lease.next({ state: effectsState(all) }),
          leaseMs: LEASE_MS,
          effect: "publish",
        });
        const open = { publish: effect() };
        await expectInvalid(
          store.beginEffect(write({})),
          /^state\.effects\.publish\.state: got no such effect, expected started/,
        );
        await expectInvalid(
          store.beginEffect(write({ publish: effect({ state: "failed" }) })),
          /got failed, expected started/,
        );
        await expectInvalid(store.recordCommitted(write(open)), /got started, expected committed/);
        await expectInvalid(store.recordFailed(write(open)), /got started, expected failed/);
        await expectInvalid(store.recordReceipt(write(open)), /got started, expected verified/);
        await expectInvalid(
          store.recordReceipt(write({ publish: effect({ state: "verified" }) })),
          /^state\.effects\.publish\.receipt: got nothing/,
        );
        assert.deepEqual(await scene.record(), lease.record);
      },
    },
  ],
};
