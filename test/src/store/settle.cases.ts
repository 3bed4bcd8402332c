import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  DAY_MS,
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
  secondsAfterEnd,
  timeAt,
  without,
  written,
} from "./support.ts";
import { holderVerbs } from "./verbs.ts";

/** A JSON text of exactly this many bytes. */
function resultOf(bytes: number): string {
  return JSON.stringify("x".repeat(bytes - 2));
}

function settle({ store }: StoreHarness, lease: Held, result?: string) {
  const { task_id, fence } = lease.record;
  return store.settle({
    ...lease.next(),
    fence,
    receipt: receiptOf(task_id),
    retentionMs: RETENTION_MS,
    ...(result === undefined ? {} : { result }),
  });
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

export const settling: Suite<StoreHarness> = {
  subject: "settle",
  cases: [
    {
      name: "settle stores receipt and result, and leaves the indexes of work",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const record = written(await settle(harness, lease, '{"url":"/2451"}'));
        assert.deepEqual(record, {
          ...without(lease.record, "check_at", "check_shard", "status_shard"),
          status: "settled",
          stage: "settled",
          lease_seq: 1,
          settlement_receipt: receiptOf(scene.taskId),
          result: '{"url":"/2451"}',
          settled_at: timeAt(2 * SECOND_MS),
          expire_at: secondsAfterEnd(RETENTION_MS),
          updated_at: timeAt(2 * SECOND_MS),
        });
        assert.deepEqual(await scene.record(), record);
        assert.equal(await harness.store.result(record), '{"url":"/2451"}');
      },
    },
    {
      name: "a task without a result settles without one",
      async run(harness) {
        const { lease } = await leased(harness);
        const record = written(await settle(harness, lease));
        assert.deepEqual(
          [record.result, record.result_ref, await harness.store.result(record)],
          [undefined, undefined, undefined],
        );
      },
    },
    {
      name: "settle with an open effect is refused and changes nothing; without one it lands",
      async run(harness) {
        for (const state of ["started", "committed"] as const) {
          const { scene, lease } = await leased(harness);
          written(
            await harness.store.renew({
              ...lease.next({ state: effectsState({ publish: effect({ state }) }) }),
              leaseMs: LEASE_MS,
            }),
          );
          const before = await scene.record();
          assert.deepEqual(await settle(harness, lease, "1"), { outcome: "refused", record: before }, state);
          assert.deepEqual(await scene.record(), before, state);
          const verified = effect({ state: "verified", receipt: receiptOf(scene.taskId) });
          written(
            await harness.store.recordReceipt({
              ...lease.next({ state: effectsState({ publish: verified }) }),
              leaseMs: LEASE_MS,
              effect: "publish",
            }),
          );
          written(await settle(harness, lease, "1"));
        }
      },
    },
    {
      name: "a settle cannot close an effect in the same write",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(
          await harness.store.renew({
            ...lease.next({ state: effectsState({ publish: effect() }) }),
            leaseMs: LEASE_MS,
          }),
        );
        const verified = effectsState({ publish: effect({ state: "verified", receipt: receiptOf(scene.taskId) }) });
        const answer = await harness.store.settle({
          ...lease.next({ state: verified }),
          fence: 1,
          receipt: receiptOf(scene.taskId),
          retentionMs: RETENTION_MS,
        });
        assert.equal(answer.outcome, "refused", "the receipt has to be durable before");
      },
    },
    {
      name: "a result of 1 KB stands in the record, a larger one in an item of its own",
      async run(harness) {
        const small = await leased(harness);
        const inline = written(await settle(harness, small.lease, resultOf(1_024)));
        assert.deepEqual([inline.result?.length, inline.result_ref], [1_024, undefined]);

        const large = await leased(harness);
        const named = written(await settle(harness, large.lease, resultOf(1_025)));
        assert.deepEqual([named.result, named.result_ref], [undefined, `result#${large.scene.taskId}#1`]);
        assert.equal(await harness.store.result(named), resultOf(1_025));
        const item = await harness.items.get(named.result_ref ?? "");
        assert.equal(item?.["expire_at"], secondsAfterEnd(2 * RETENTION_MS));
      },
    },
    {
      name: "a result above 380 KB is refused with limit and size, and the lease lives on",
      async run(harness) {
        const limit = 380 * 1_024;
        const { scene, lease } = await leased(harness);
        await assert.rejects(settle(harness, lease, resultOf(limit + 1)), {
          code: "PayloadTooLarge",
          details: { limit, size: limit + 1 },
        });
        assert.equal((await scene.record()).status, "leased");
        assert.equal(
          await harness.store.result(written(await settle(harness, lease, resultOf(limit)))),
          resultOf(limit),
        );
      },
    },
    {
      name: "a loser's result is never served",
      async run(harness) {
        const { scene, lease: loser } = await leased(harness);
        const winner = await scene.acquire({ at: at(10 * MINUTE_MS) });
        const [first, second] = [JSON.stringify("l".repeat(2_000)), JSON.stringify("w".repeat(2_000))];
        assert.equal((await settle(harness, loser, first)).outcome, "lost");
        const record = written(await settle(harness, winner, second));
        assert.equal((await settle(harness, loser, first)).outcome, "lost");
        assert.equal(await harness.store.result(await scene.record()), second);
        assert.equal(await harness.store.result(record), second);
      },
    },
    {
      name: "a settled result does not change, not by its own lease either",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const result = resultOf(2_000);
        written(await settle(harness, lease, result));
        await assert.rejects(settle(harness, lease, resultOf(3_000)), { code: "Conflict" });
        assert.equal((await settle(harness, lease, '"short"')).outcome, "lost");
        assert.equal(await harness.store.result(await scene.record()), result);
      },
    },
    {
      name: "a result left from an earlier life of the task id is replaced",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const key = `result#${scene.taskId}#1`;
        await harness.items.put(
          key,
          { text: '"old"', lease_token: "of an earlier life", expire_at: 1 },
          { absent: "text" },
        );
        const record = written(await settle(harness, lease, resultOf(2_000)));
        assert.equal(await harness.store.result(record), resultOf(2_000));
      },
    },
    {
      name: "no result is served of a task that has not settled",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        await harness.items.put(
          `result#${scene.taskId}#1`,
          { text: '"early"', lease_token: lease.token, expire_at: 1 },
          { absent: "text" },
        );
        assert.equal(await harness.store.result(await scene.record()), undefined);
      },
    },
    {
      name: "settled is final: no verb changes the record, its receipt or its result",
      async run(harness) {
        const { store } = harness;
        const { scene, lease } = await leased(harness);
        written(await settle(harness, lease, '"done"'));
        const before = await scene.record();
        for (const verb of holderVerbs) {
          const answer = await verb.call(harness, lease.next(), { queue: scene.queue, fence: 1 });
          assert.equal(answer.outcome, "lost", verb.name);
          assert.deepEqual(await scene.record(), before, verb.name);
        }
        assert.equal((await store.acquire(scene.acquireRequest({ at: at(DAY_MS) }))).outcome, "refused");
        assert.equal((await store.create(scene.newTask({ at: at(DAY_MS) }))).outcome, "exists");
        assert.equal((await store.cancel({ ...outside(harness, scene), reason: "late" })).outcome, "refused");
        assert.equal((await store.reopen(outside(harness, scene))).outcome, "refused");
        assert.equal(
          (await store.resume({ ...outside(harness, scene), decision: "retry", by: "ada" })).outcome,
          "refused",
        );
        const check = {
          read: { check_at: before.updated_at, status: "settled", fence: 1 },
          at: at(DAY_MS),
          checkAt: at(DAY_MS),
          kind: "waiting",
        } as const;
        assert.equal(
          (
            await store.moveCheck({
              ...check,
              taskId: scene.taskId,
              queue: scene.queue,
              token: harness.unique("check"),
            })
          ).outcome,
          "refused",
        );
        assert.deepEqual(await scene.record(), before);
        assert.equal(await store.result(await scene.record()), '"done"');
      },
    },
    {
      name: "a receipt that cannot be read back is refused before it is written",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const end = { fence: 1, retentionMs: RETENTION_MS };
        const bad = receiptOf(scene.taskId, { verified_at: "now" });
        await expectInvalid(harness.store.settle({ ...lease.next(), ...end, receipt: bad }), /^receipt\.verified_at/);
        const unfinished = { ...receiptOf(scene.taskId), external_id: undefined } as unknown as ReturnType<
          typeof receiptOf
        >;
        await expectInvalid(
          harness.store.settle({ ...lease.next(), ...end, receipt: unfinished }),
          /^receipt\.external_id/,
        );
        assert.deepEqual(await scene.record(), lease.record);
      },
    },
  ],
};
