import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  DAY_MS,
  expectNotAcquired,
  LEASE_MS,
  leased,
  MINUTE_MS,
  RECOVER_MS,
  RETENTION_MS,
  SECOND_MS,
  SKEW_MS,
  written,
} from "./support.ts";

/** When the lease of {@link leased} may be taken over: acquired after a second, at the skew after its expiry it is still spared. */
const LAPSE_MS = SECOND_MS + LEASE_MS + SKEW_MS;

export const takingOver: Suite<StoreHarness> = {
  subject: "takeover",
  cases: [
    {
      name: "of 50 takeovers at once one wins",
      async run(harness) {
        const { scene } = await leased(harness);
        const answers = await Promise.all(
          Array.from({ length: 50 }, () => harness.store.acquire(scene.acquireRequest({ at: at(LAPSE_MS + 1) }))),
        );
        assert.equal(answers.filter(({ outcome }) => outcome === "acquired").length, 1);
        assert.equal((await scene.record()).fence, 2);
      },
    },
    {
      name: "a live lease is not taken over, deadline and cancel or not",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create({ deadline: at(10 * SECOND_MS) });
        await scene.acquire();
        const cancel = {
          taskId: scene.taskId,
          at: at(2 * SECOND_MS),
          recoverAfterMs: RECOVER_MS,
          retentionMs: RETENTION_MS,
        };
        written(await harness.store.cancel({ ...cancel, token: harness.unique("cancel"), reason: "no longer needed" }));
        await expectNotAcquired(harness, scene, { at: at(LEASE_MS) });
      },
    },
    {
      name: "takeover only after expiry and skew",
      async run(harness) {
        const { scene } = await leased(harness);
        await expectNotAcquired(harness, scene, { at: at(SECOND_MS + LEASE_MS) });
        await expectNotAcquired(harness, scene, { at: at(LAPSE_MS) });
        const { record } = await scene.acquire({ at: at(LAPSE_MS + 1) });
        assert.equal(record.fence, 2);
      },
    },
    {
      name: "a renewed lease is spared for its new length",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(await harness.store.renew({ ...lease.next({ at: at(MINUTE_MS) }), leaseMs: LEASE_MS }));
        await expectNotAcquired(harness, scene, { at: at(2 * MINUTE_MS + SKEW_MS) });
        await scene.acquire({ at: at(2 * MINUTE_MS + SKEW_MS + 1) });
      },
    },
    {
      name: "the fence grows by one with each acquisition",
      async run(harness) {
        const { scene } = await leased(harness);
        for (let fence = 2; fence <= 5; fence++) {
          const { record } = await scene.acquire({ at: at(fence * 10 * MINUTE_MS) });
          assert.deepEqual(
            [record.fence, record.attempt, record.attempts_total, record.delivery_count],
            [fence, fence, fence, fence],
          );
        }
      },
    },
    {
      name: "a repeat of an acquire whose answer was lost finds its own lease",
      needs: ["faults"],
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const request = scene.acquireRequest();
        harness.failNext("update", "answer lost");
        await assert.rejects(harness.store.acquire(request), { code: "Unavailable" });
        const answer = await harness.store.acquire(request);
        assert.deepEqual(answer, { outcome: "acquired", record: await scene.record() });
        assert.deepEqual([answer.record.fence, answer.record.attempt, answer.record.delivery_count], [1, 1, 1]);
      },
    },
    {
      name: "a late repeat of an acquire does not grow the fence, even after the lease has lapsed",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const request = scene.acquireRequest();
        await harness.store.acquire(request);
        const answer = await harness.store.acquire({ ...request, at: at(DAY_MS) });
        assert.equal(answer.outcome, "acquired");
        assert.equal((await scene.record()).fence, 1);
      },
    },
    {
      name: "a late repeat of an acquire brings no lease back that was given up",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const request = scene.acquireRequest();
        const lease = await scene.acquire(request);
        const release = { queue: scene.queue, notBefore: at(0), recoverAfterMs: RECOVER_MS };
        written(await harness.store.release({ ...lease.next(), ...release }));
        await expectNotAcquired(harness, scene, request);
      },
    },
    {
      name: "an expiry is counted once for its fence, with the stage it happened in",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(await harness.store.renew({ ...lease.next({ state: { stage: "external_call" } }), leaseMs: LEASE_MS }));
        const second = await scene.acquire({ at: at(10 * MINUTE_MS) });
        assert.equal(second.answer.expiredStage, "external_call");
        const third = await scene.acquire({ at: at(20 * MINUTE_MS) });
        assert.equal(third.answer.expiredStage, "external_call", "the second fence has lapsed too");
        const release = { queue: scene.queue, notBefore: at(30 * MINUTE_MS), recoverAfterMs: RECOVER_MS };
        written(await harness.store.release({ ...third.next(), ...release }));
        const fourth = await scene.acquire({ at: at(30 * MINUTE_MS) });
        assert.equal(fourth.answer.expiredStage, undefined, "a release is no expiry");
      },
    },
    {
      name: "an expiry that recovery has counted is not counted again by acquire",
      async run(harness) {
        const { scene } = await leased(harness);
        const record = await scene.record();
        const counted = await harness.store.moveCheck({
          taskId: scene.taskId,
          queue: scene.queue,
          read: { check_at: record.check_at ?? "", status: "leased", fence: 1 },
          at: at(10 * MINUTE_MS),
          checkAt: at(15 * MINUTE_MS),
          kind: "leased",
          countExpiry: true,
          token: harness.unique("check"),
        });
        assert.equal(written(counted).expiry_counted, 1);
        const second = await scene.acquire({ at: at(10 * MINUTE_MS) });
        assert.equal(second.answer.expiredStage, undefined);
        const third = await scene.acquire({ at: at(20 * MINUTE_MS) });
        assert.equal(third.answer.expiredStage, "preflight", "the next fence counts for itself");
      },
    },
  ],
};
