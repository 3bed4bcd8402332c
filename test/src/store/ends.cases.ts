import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  expectInvalid,
  LEASE_MS,
  leased,
  MINUTE_MS,
  RECOVER_MS,
  RETENTION_MS,
  SECOND_MS,
  secondsAfterEnd,
  timeAt,
  without,
  written,
} from "./support.ts";

export const ending: Suite<StoreHarness> = {
  subject: "ends",
  cases: [
    {
      name: "release gives the task back to its queue, to start at its time",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const state = { attempt: 0, unread_releases: 1 };
        const release = { queue: scene.queue, notBefore: at(MINUTE_MS), recoverAfterMs: RECOVER_MS, lastError: "503" };
        const record = written(await harness.store.release({ ...lease.next({ state }), ...release }));
        assert.deepEqual(record, {
          ...lease.record,
          ...state,
          status: "released",
          status_shard: lease.record.status_shard?.replace("leased", "released"),
          lease_seq: 1,
          not_before: timeAt(MINUTE_MS),
          sent_at: timeAt(MINUTE_MS),
          check_at: timeAt(MINUTE_MS + RECOVER_MS),
          last_error: "503",
          updated_at: timeAt(2 * SECOND_MS),
        });
        assert.match(record.check_shard ?? "", new RegExp(`^${scene.queue}#w`));
      },
    },
    {
      name: "a release without an error does not keep that of an earlier attempt",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const release = { queue: scene.queue, notBefore: at(0), recoverAfterMs: RECOVER_MS };
        written(await harness.store.release({ ...lease.next(), ...release, lastError: "503" }));
        const second = await scene.acquire({ at: at(MINUTE_MS) });
        assert.equal(second.record.last_error, "503");
        assert.equal(written(await harness.store.release({ ...second.next(), ...release })).last_error, undefined);
      },
    },
    {
      name: "a release takes a task whose check was in the leased partition back to the waiting one",
      async run(harness) {
        const scene = createScene(harness);
        const { check_shard } = await scene.create({ token: "mine", lease: { owner: "a", leaseMs: LEASE_MS } });
        const write = { taskId: scene.taskId, token: "mine", seq: 1, at: at(SECOND_MS) };
        const release = { queue: scene.queue, notBefore: at(MINUTE_MS), recoverAfterMs: RECOVER_MS };
        const record = written(await harness.store.release({ ...write, ...release }));
        assert.equal(record.check_shard, check_shard?.replace("#l", "#w"));
      },
    },
    {
      name: "a dead-lettered task says why, expires, and its payload outlives it",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const end = { endReason: "permanent: no such draft", lastError: "no such draft", retentionMs: RETENTION_MS };
        const record = written(await harness.store.deadLetter({ ...lease.next(), ...end }));
        assert.deepEqual(record, {
          ...without(lease.record, "check_at", "check_shard"),
          status: "dead_lettered",
          status_shard: lease.record.status_shard?.replace("leased", "dead_lettered"),
          lease_seq: 1,
          end_reason: "permanent: no such draft",
          last_error: "no such draft",
          expire_at: secondsAfterEnd(RETENTION_MS),
          updated_at: timeAt(2 * SECOND_MS),
        });
        assert.equal((await scene.payloadItem())?.["expire_at"], secondsAfterEnd(2 * RETENTION_MS));
      },
    },
    {
      name: "a parked task waits without end, and so does its payload",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const record = written(
          await harness.store.park({
            ...lease.next(),
            endReason: "unresolved: look at wordpress",
            lastError: "not found",
          }),
        );
        assert.deepEqual(record, {
          ...without(lease.record, "check_at", "check_shard"),
          status: "parked",
          status_shard: lease.record.status_shard?.replace("leased", "parked"),
          lease_seq: 1,
          end_reason: "unresolved: look at wordpress",
          last_error: "not found",
          updated_at: timeAt(2 * SECOND_MS),
        });
        assert.deepEqual(await scene.payloadItem(), { text: '{"draft":1}' });
      },
    },
    {
      name: "a holder ends its task as cancelled",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const record = written(
          await harness.store.endCancelled({
            ...lease.next(),
            endReason: "cancelled: asked",
            retentionMs: RETENTION_MS,
          }),
        );
        assert.deepEqual(record, {
          ...without(lease.record, "check_at", "check_shard", "status_shard"),
          status: "cancelled",
          lease_seq: 1,
          end_reason: "cancelled: asked",
          expire_at: secondsAfterEnd(RETENTION_MS),
          updated_at: timeAt(2 * SECOND_MS),
        });
        assert.deepEqual(await scene.record(), record);
      },
    },
    {
      name: "the payload is moved before the record ends, so that a crash between the two loses none",
      needs: ["faults"],
      async run(harness) {
        for (const end of ["park", "deadLetter"] as const) {
          const { scene, lease } = await leased(harness);
          const write = { ...lease.next(), endReason: "unresolved: look", retentionMs: RETENTION_MS };
          harness.failNext("update", "request lost", 1);
          await assert.rejects(harness.store[end](write), { code: "Unavailable" });
          assert.equal((await scene.record()).status, "leased", end);
          const expiry = (await scene.payloadItem())?.["expire_at"];
          assert.equal(expiry, end === "park" ? undefined : secondsAfterEnd(2 * RETENTION_MS), end);
        }
      },
    },
    {
      name: "a task whose payload is gone can still end",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        await scene.tamper({ payload_ref: `payload#${scene.taskId}#gone` });
        written(await harness.store.park({ ...lease.next(), endReason: "payload_missing: an effect is open" }));
        assert.equal(await scene.payloadItem(), undefined);
      },
    },
    {
      name: "long reasons are cut with a mark, and an empty one is refused",
      async run(harness) {
        const { lease } = await leased(harness);
        await expectInvalid(harness.store.park({ ...lease.next(), endReason: "" }), /^endReason: got empty text/);
        const record = written(
          await harness.store.park({
            ...lease.next(),
            endReason: `unresolved: ${"é".repeat(5_000)}`,
            lastError: "\ud800",
          }),
        );
        assert.ok(Buffer.byteLength(record.end_reason ?? "") <= 4_096 && record.end_reason?.endsWith("…"));
        assert.equal(record.last_error, "\ufffd");
      },
    },
  ],
};
