import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  DAY_MS,
  effect,
  effectsState,
  expectInvalid,
  expectNotAcquired,
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

export const acquiring: Suite<StoreHarness> = {
  subject: "acquire",
  cases: [
    {
      name: "acquire grows the counters by one and begins a lease at number 0",
      async run(harness) {
        const scene = createScene(harness);
        const created = await scene.create();
        const request = scene.acquireRequest({ token: "mine", owner: "worker-a" });
        const answer = await harness.store.acquire(request);
        assert.ok(answer.outcome === "acquired");
        assert.deepEqual(answer.previous, created);
        assert.equal(answer.expiredStage, undefined);
        assert.deepEqual(answer.record, {
          ...created,
          status: "leased",
          status_shard: created.status_shard?.replace("queued", "leased"),
          fence: 1,
          attempt: 1,
          attempts_total: 1,
          delivery_count: 1,
          lease_token: "mine",
          lease_seq: 0,
          lease_owner: "worker-a",
          acquired_at: timeAt(SECOND_MS),
          lease_expires_at: timeAt(SECOND_MS + LEASE_MS),
          renewal_count: 0,
          updated_at: timeAt(SECOND_MS),
        });
        assert.deepEqual(await scene.record(), answer.record);
      },
    },
    {
      name: "acquire is one write and no read",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        harness.takeCalls();
        await scene.acquire();
        assert.deepEqual(harness.takeCalls(), ["update"]);
        await harness.store.acquire(scene.acquireRequest());
        assert.deepEqual(harness.takeCalls(), ["update"], "a refusal shows the record without a read");
      },
    },
    {
      name: "of 50 acquires at once one wins",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const answers = await Promise.all(
          Array.from({ length: 50 }, () => harness.store.acquire(scene.acquireRequest())),
        );
        assert.equal(answers.filter(({ outcome }) => outcome === "acquired").length, 1);
        const record = await scene.record();
        assert.deepEqual([record.fence, record.attempt, record.delivery_count], [1, 1, 1]);
      },
    },
    {
      name: "a missing record is told apart from a refusal",
      async run(harness) {
        assert.deepEqual(await harness.store.acquire(createScene(harness).acquireRequest()), { outcome: "missing" });
      },
    },
    {
      name: "another type or another input is refused",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        await expectNotAcquired(harness, scene, { expect: { type: "send_mail", inputHash: "hash-1" } });
        await expectNotAcquired(harness, scene, { expect: { type: "publish_post", inputHash: "hash-2" } });
        await scene.acquire({ expect: { type: "publish_post", inputHash: "hash-1" } });
      },
    },
    {
      name: "a delayed task is acquired at its time and not before",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create({ notBefore: at(MINUTE_MS) });
        await expectNotAcquired(harness, scene, { at: at(MINUTE_MS - 1) });
        await scene.acquire({ at: at(MINUTE_MS) });
      },
    },
    {
      name: "a released task is acquired at its time and not before",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const release = { queue: scene.queue, notBefore: at(MINUTE_MS), recoverAfterMs: RECOVER_MS };
        written(await harness.store.release({ ...lease.next(), ...release }));
        await expectNotAcquired(harness, scene, { at: at(MINUTE_MS - 1) });
        const { record } = await scene.acquire({ at: at(MINUTE_MS) });
        assert.deepEqual([record.fence, record.attempt], [2, 2]);
      },
    },
    {
      name: "a task past its deadline is acquired, to be ended, before its time",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create({ notBefore: at(DAY_MS), deadline: at(MINUTE_MS) });
        await expectNotAcquired(harness, scene, { at: at(MINUTE_MS - 1) });
        await scene.acquire({ at: at(MINUTE_MS) });
      },
    },
    {
      name: "a released task that shall be cancelled is acquired, to be ended, before its time",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const cancel = {
          taskId: scene.taskId,
          at: at(2 * SECOND_MS),
          recoverAfterMs: RECOVER_MS,
          retentionMs: RETENTION_MS,
        };
        written(await harness.store.cancel({ ...cancel, token: harness.unique("cancel"), reason: "no longer needed" }));
        const release = { queue: scene.queue, notBefore: at(DAY_MS), recoverAfterMs: RECOVER_MS };
        written(await harness.store.release({ ...lease.next(), ...release }));
        const { record } = await scene.acquire({ at: at(5 * SECOND_MS) });
        assert.equal(record.cancel_requested_at, timeAt(2 * SECOND_MS));
      },
    },
    {
      name: "ended and parked tasks are not acquired",
      async run(harness) {
        const { store } = harness;
        const ends = [
          (scene: Scene, write: Parameters<typeof store.renew>[0]) =>
            store.settle({ ...write, fence: 1, receipt: receiptOf(scene.taskId), retentionMs: RETENTION_MS }),
          (_: Scene, write: Parameters<typeof store.renew>[0]) =>
            store.deadLetter({ ...write, endReason: "permanent: no", retentionMs: RETENTION_MS }),
          (_: Scene, write: Parameters<typeof store.renew>[0]) =>
            store.endCancelled({ ...write, endReason: "cancelled: asked", retentionMs: RETENTION_MS }),
          (_: Scene, write: Parameters<typeof store.renew>[0]) =>
            store.park({ ...write, endReason: "unresolved: look" }),
        ];
        for (const end of ends) {
          const { scene, lease } = await leased(harness);
          written(await end(scene, { ...lease.next(), leaseMs: LEASE_MS }));
          await expectNotAcquired(harness, scene, { at: at(DAY_MS) });
        }
      },
    },
    {
      name: "acquire leaves stage, claims, effects and the check as they are",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const last_claims = [{ stage: "external_call" as const, reason: "sent 3 of 9", at: timeAt(SECOND_MS) }];
        const state = {
          stage: "commit" as const,
          last_claims,
          claim_count: 4,
          renewal_count: 3,
          ...effectsState({ publish: effect() }),
        };
        written(await harness.store.renew({ ...lease.next({ state }), leaseMs: LEASE_MS }));
        const before = await scene.record();
        const { record } = await scene.acquire({ at: at(DAY_MS) });
        for (const field of [
          "stage",
          "last_claims",
          "claim_count",
          "effects",
          "open_effects",
          "check_at",
          "check_shard",
          "sent_at",
        ] as const) {
          assert.deepEqual(record[field], before[field], field);
        }
        assert.equal(record.renewal_count, 0, "renewals are counted by fence");
      },
    },
    {
      name: "a request that cannot be right is refused by the name of its field",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const acquire = (more: object) => harness.store.acquire(scene.acquireRequest(more));
        await expectInvalid(acquire({ at: Number.NaN }), /^at: got NaN/);
        await expectInvalid(acquire({ leaseMs: Number.NaN }), /^leaseMs: got NaN/);
        await expectInvalid(acquire({ maxClockSkewMs: -1 }), /^maxClockSkewMs: got -1/);
        await expectInvalid(acquire({ token: "" }), /^token: got empty text/);
        await expectInvalid(acquire({ owner: undefined }), /^owner: got nothing/);
        assert.equal((await scene.record()).fence, 0);
      },
    },
  ],
};
