import assert from "node:assert/strict";
import { createTaskStore, type ItemStore } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import { cancel, expectRefused, LATER, payloadExpiry, request, taskIn } from "./outside.ts";
import {
  at,
  createScene,
  effect,
  effectsState,
  LEASE_MS,
  leased,
  RECOVER_MS,
  RETENTION_MS,
  SECOND_MS,
  START_MS,
  storeThatIsOvertaken,
  timeAt,
  written,
} from "./support.ts";
import { holderVerb } from "./verbs.ts";

export const cancelling: Suite<StoreHarness> = {
  subject: "cancel",
  cases: [
    {
      name: "cancel ends a waiting task at once",
      async run(harness) {
        for (const status of ["queued", "released"] as const) {
          const scene = await taskIn(harness, status);
          const record = written(await cancel(harness, scene));
          assert.deepEqual([record.status, record.end_reason], ["cancelled", "cancelled: no longer needed"]);
          assert.equal(record.expire_at, (START_MS + LATER + RETENTION_MS) / SECOND_MS);
          for (const field of ["check_at", "check_shard", "status_shard"] as const)
            assert.equal(record[field], undefined, field);
          assert.deepEqual(await scene.record(), record);
        }
      },
    },
    {
      name: "cancel asks a waiting task with an open effect to be acquired and read back first",
      async run(harness) {
        const scene = await taskIn(harness, "released", { publish: effect() });
        const record = written(await cancel(harness, scene));
        assert.deepEqual([record.status, record.cancel_requested_at], ["released", timeAt(LATER)]);
        assert.deepEqual([record.sent_at, record.check_at], [timeAt(LATER), timeAt(LATER + RECOVER_MS)]);
        await scene.acquire({ at: at(LATER + 1) });
      },
    },
    {
      name: "cancel ends a parked task at once, and gives its payload an expiry again",
      async run(harness) {
        const scene = await taskIn(harness, "parked", { publish: effect({ guard: "none" }) });
        assert.equal(written(await cancel(harness, scene)).status, "cancelled");
        assert.equal((await scene.payloadItem())?.["expire_at"], payloadExpiry);
      },
    },
    {
      name: "cancel asks a leased task, once, and takes nothing from its holder",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const record = written(await cancel(harness, scene));
        assert.deepEqual([record.status, record.cancel_requested_at], ["leased", timeAt(LATER)]);
        assert.deepEqual(
          [record.lease_token, record.lease_seq, record.check_at],
          [lease.token, 0, lease.record.check_at],
        );
        const again = await harness.store.cancel({ ...request(harness, scene), at: at(2 * LATER), reason: "really" });
        assert.equal(written(again).cancel_requested_at, timeAt(LATER));
        written(await harness.store.renew({ ...lease.next(), leaseMs: LEASE_MS }));
      },
    },
    {
      name: "cancel of an ended or missing task says so",
      async run(harness) {
        for (const status of ["settled", "dead_lettered", "cancelled"] as const) {
          const scene = await taskIn(harness, status);
          await expectRefused(scene, () => cancel(harness, scene));
        }
        assert.deepEqual(await cancel(harness, createScene(harness)), { outcome: "missing" });
      },
    },
    {
      name: "a cancel beside an acquire is never lost: it ends the task, or its holder hears of it",
      async run(harness) {
        for (let round = 0; round < 10; round++) {
          const scene = createScene(harness);
          await scene.create();
          const [cancelled, acquired] = await Promise.all([
            cancel(harness, scene),
            harness.store.acquire(scene.acquireRequest()),
          ]);
          written(cancelled);
          const record = await scene.record();
          if (acquired.outcome === "acquired") assert.equal(record.cancel_requested_at, timeAt(LATER));
          else assert.equal(record.status, "cancelled");
        }
      },
    },
    {
      name: "a cancel that another attempt overtakes is decided again on what that left",
      async run(harness) {
        const scene = await taskIn(harness, "released");
        const slow = storeThatIsOvertaken(harness, "get", async () => {
          const lease = await scene.acquire({ at: at(LATER) });
          const state = effectsState({ publish: effect() });
          const release = { queue: scene.queue, notBefore: at(2 * LATER), recoverAfterMs: RECOVER_MS };
          written(await harness.store.release({ ...lease.next({ state }), ...release }));
        });
        const record = written(await slow.cancel({ ...request(harness, scene), reason: "no longer needed" }));
        assert.deepEqual(
          [record.status, record.cancel_requested_at],
          ["released", timeAt(LATER)],
          "its effect is read back first",
        );
        assert.deepEqual(await scene.record(), record);
      },
    },
    {
      name: "a cancel that the end of a lease overtakes is decided again on what that left",
      async run(harness) {
        const rows = [
          ["release", "written", "cancelled"],
          ["park", "written", "cancelled"],
          ["settle", "refused", "settled"],
          ["renew", "written", "leased"],
        ] as const;
        for (const [verb, outcome, status] of rows) {
          const { scene, lease } = await leased(harness);
          const slow = storeThatIsOvertaken(harness, "get", () =>
            holderVerb(verb).call(harness, lease.next(), { queue: scene.queue, fence: 1 }),
          );
          const answer = await slow.cancel({ ...request(harness, scene), reason: "no longer needed" });
          assert.equal(answer.outcome, outcome, verb);
          const record = await scene.record();
          assert.equal(record.status, status, verb);
          assert.deepEqual("record" in answer && answer.record, record, verb);
        }
      },
    },
    {
      name: "a late repeat of a cancel that was undone since does not do it again",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const sent: (() => Promise<unknown>)[] = [];
        const items: ItemStore = {
          ...harness.items,
          update(...request) {
            sent.push(() => harness.items.update(...request));
            return harness.items.update(...request);
          },
        };
        written(await createTaskStore({ items }).cancel({ ...request(harness, scene), reason: "no longer needed" }));
        written(await harness.store.reopen(request(harness, scene)));
        const before = await scene.record();
        assert.deepEqual([before.status, before.fence], ["queued", 0], "as it was before the cancel");
        for (const again of sent) await again();
        assert.deepEqual(await scene.record(), before);
      },
    },
  ],
};
