import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  effect,
  effectsState,
  LEASE_MS,
  RETENTION_MS,
  receiptOf,
  type Scene,
  SECOND_MS,
  written,
} from "./support.ts";

/** How far the clock of the second worker is ahead of the first one's. */
const SKEW_MS = 5 * SECOND_MS;

/** The first worker's own clock: by it, it must stop before a lease's last second (see the design, "Clocks"). */
function holderDeadlineMs(acquiredMs: number): number {
  return acquiredMs + LEASE_MS - Math.max(SECOND_MS, 0.05 * LEASE_MS);
}

/** A lease that the first worker took at its time 0, and the time on its clock at which the second one, asking all the while, took over. */
async function takeover(harness: StoreHarness, scene: Scene, maxClockSkewMs: number) {
  const first = await scene.acquire({ at: at(0), owner: "worker-a", maxClockSkewMs });
  for (let firstMs = 0; ; firstMs += SECOND_MS / 2) {
    const request = scene.acquireRequest({ at: at(firstMs + SKEW_MS), owner: "worker-b", maxClockSkewMs });
    const answer = await harness.store.acquire(request);
    if (answer.outcome === "acquired")
      return { first, second: { token: request.token, record: answer.record }, takenMs: firstMs };
    assert.ok(firstMs < 2 * LEASE_MS, "the lease is taken over at some time");
  }
}

export const skew: Suite<StoreHarness> = {
  subject: "clock skew",
  cases: [
    {
      name: "a skew of 5 s with the option at 5 s: nobody takes over before the holder has heard that its lease is gone",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const { takenMs } = await takeover(harness, scene, SKEW_MS);
        assert.ok(
          takenMs > holderDeadlineMs(0),
          `taken over at ${takenMs} ms, the holder stops at ${holderDeadlineMs(0)} ms`,
        );
        assert.ok(takenMs > LEASE_MS, "not even before its stored expiry");
      },
    },
    {
      name: "a skew of 5 s with the option at 2 s: a lease can end early, and still one holder's writes count, receipts stay and nothing is begun twice",
      async run(harness) {
        const { store } = harness;
        const scene = createScene(harness);
        await scene.create();
        const { first, second, takenMs } = await takeover(harness, scene, 2 * SECOND_MS);
        assert.ok(takenMs < LEASE_MS, "the case is about a takeover that is too early");
        assert.equal(second.record.fence, 2);

        // The first worker believes in its lease and goes on.
        const started = effectsState({ publish: effect({ guard: "none" }) });
        const lateBegin = await store.beginEffect({
          ...first.next({ state: started }),
          leaseMs: LEASE_MS,
          effect: "publish",
        });
        assert.equal(lateBegin.outcome, "lost");

        const frame = (seq: number) => ({ taskId: scene.taskId, token: second.token, seq, at: at(takenMs + SKEW_MS) });
        written(await store.beginEffect({ ...frame(1), leaseMs: LEASE_MS, effect: "publish", state: started }));
        const receipt = receiptOf(scene.taskId);
        const verified = effectsState({ publish: effect({ guard: "none", state: "verified", receipt }) });
        written(await store.recordReceipt({ ...frame(2), leaseMs: LEASE_MS, effect: "publish", state: verified }));
        const end = { retentionMs: RETENTION_MS, receipt, result: '"second"' };
        written(await store.settle({ ...frame(3), ...end, fence: 2 }));

        const forged = { ...end, receipt: receiptOf(scene.taskId, { external_id: "other" }), result: '"first"' };
        assert.equal((await store.settle({ ...first.next(), ...forged, fence: 1 })).outcome, "lost");
        const record = await scene.record();
        assert.deepEqual(
          [record.settlement_receipt, record.result, record.effects],
          [receipt, '"second"', verified.effects],
        );
      },
    },
  ],
};
