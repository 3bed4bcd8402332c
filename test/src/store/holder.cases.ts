import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  DAY_MS,
  effect,
  effectsState,
  expectInvalid,
  LEASE_MS,
  leased,
  MINUTE_MS,
  RECOVER_MS,
  RETENTION_MS,
  SECOND_MS,
  timeAt,
  written,
} from "./support.ts";
import { holderVerb, holderVerbs } from "./verbs.ts";

export const holding: Suite<StoreHarness> = {
  subject: "holder writes",
  cases: [
    {
      name: "each verb of the holder lands under a live lease and answers the record as it is then",
      async run(harness) {
        for (const verb of holderVerbs) {
          const { scene, lease } = await leased(harness);
          const answer = await verb.call(harness, lease.next(), { queue: scene.queue, fence: 1 });
          assert.equal(answer.outcome, "written", verb.name);
          const record = await scene.record();
          assert.deepEqual(answer.record, record, verb.name);
          assert.deepEqual([record.lease_token, record.lease_seq, record.fence], [lease.token, 1, 1], verb.name);
        }
      },
    },
    {
      name: "each verb with a stale token is lost and changes nothing",
      async run(harness) {
        for (const verb of holderVerbs) {
          const { scene, lease } = await leased(harness);
          await scene.acquire({ at: at(10 * MINUTE_MS) });
          const before = await scene.record();
          const payload = await scene.payloadItem();
          const answer = await verb.call(harness, lease.next(), { queue: scene.queue, fence: 1 });
          assert.deepEqual(answer, { outcome: "lost", record: before }, verb.name);
          assert.deepEqual(await scene.record(), before, verb.name);
          assert.deepEqual(await scene.payloadItem(), payload, verb.name);
        }
      },
    },
    {
      name: "each verb after the end of its own lease is lost and changes nothing",
      async run(harness) {
        for (const end of ["release", "settle", "deadLetter", "park", "endCancelled"]) {
          for (const verb of holderVerbs) {
            const { scene, lease } = await leased(harness);
            const about = { queue: scene.queue, fence: 1 };
            assert.equal((await holderVerb(end).call(harness, lease.next(), about)).outcome, "written");
            const before = await scene.record();
            const payload = await scene.payloadItem();
            const answer = await verb.call(harness, lease.next(), about);
            assert.deepEqual(answer, { outcome: "lost", record: before }, `${verb.name} after ${end}`);
            assert.deepEqual(await scene.record(), before, `${verb.name} after ${end}`);
            assert.deepEqual(await scene.payloadItem(), payload, `${verb.name} after ${end}`);
          }
        }
      },
    },
    {
      name: "each verb whose write arrives late, after one with a higher number, changes nothing",
      async run(harness) {
        for (const verb of holderVerbs) {
          const { scene, lease } = await leased(harness);
          const late = lease.next();
          written(
            await harness.store.renew({
              ...lease.next({ state: { stage: "external_call", claim_count: 7 } }),
              leaseMs: LEASE_MS,
            }),
          );
          const before = await scene.record();
          const answer = await verb.call(harness, late, { queue: scene.queue, fence: 1 });
          assert.equal(answer.outcome, "lost", verb.name);
          assert.deepEqual(await scene.record(), before, verb.name);
        }
      },
    },
    {
      name: "a number that was used is its first write: the second changes nothing",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const frame = lease.next({ state: { claim_count: 1 } });
        written(await harness.store.renew({ ...frame, leaseMs: LEASE_MS }));
        const before = await scene.record();
        const again = await harness.store.renew({ ...frame, state: { claim_count: 2 }, leaseMs: 2 * LEASE_MS });
        assert.deepEqual(again, { outcome: "written", record: before });
        assert.deepEqual(await scene.record(), before);
      },
    },
    {
      name: "each verb on a task that is gone is lost",
      async run(harness) {
        for (const verb of holderVerbs) {
          const write = { taskId: harness.unique("task"), token: "mine", seq: 1, at: at(0) };
          assert.deepEqual(await verb.call(harness, write, { queue: "q", fence: 1 }), { outcome: "lost" }, verb.name);
          assert.equal(await harness.store.get(write.taskId), undefined);
        }
      },
    },
    {
      name: "nobody holds a task that was never acquired, not even who made it",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const release = { queue: scene.queue, notBefore: at(0), recoverAfterMs: RECOVER_MS };
        written(await harness.store.release({ ...lease.next(), ...release }));
        const answer = await harness.store.renew({ ...lease.next(), leaseMs: LEASE_MS });
        assert.equal(answer.outcome, "lost");
      },
    },
    {
      name: "a lapsed lease that nobody has taken is still its holder's",
      async run(harness) {
        const { lease } = await leased(harness);
        const record = written(await harness.store.renew({ ...lease.next({ at: at(DAY_MS) }), leaseMs: LEASE_MS }));
        assert.equal(record.lease_expires_at, timeAt(DAY_MS + LEASE_MS));
      },
    },
    {
      name: "a renewal writes the holder's words and a full new lease, and moves no index",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const last_claims = [
          {
            stage: "external_call" as const,
            reason: "18 of 24 documents",
            at: timeAt(2 * SECOND_MS),
            guard: "none" as const,
            progress: { done: 18, total: 24, unit: "documents" },
          },
        ];
        const state = { stage: "external_call" as const, last_claims, claim_count: 3, renewal_count: 2 };
        const record = written(await harness.store.renew({ ...lease.next({ state }), leaseMs: 2 * LEASE_MS }));
        assert.deepEqual(record, {
          ...lease.record,
          ...state,
          lease_seq: 1,
          lease_expires_at: timeAt(2 * SECOND_MS + 2 * LEASE_MS),
          updated_at: timeAt(2 * SECOND_MS),
        });
        assert.deepEqual(await scene.record(), record);
      },
    },
    {
      name: "a holder write is one write and no read",
      async run(harness) {
        for (const name of [
          "renew",
          "beginEffect",
          "recordCommitted",
          "recordFailed",
          "recordReceipt",
          "settle",
          "release",
          "endCancelled",
        ]) {
          const { scene, lease } = await leased(harness);
          harness.takeCalls();
          await holderVerb(name).call(harness, lease.next(), { queue: scene.queue, fence: 1 });
          assert.deepEqual(harness.takeCalls(), ["update"], name);
        }
      },
    },
    {
      name: "the holder sees a cancel in the answer to its next write, whichever that is",
      async run(harness) {
        for (const verb of holderVerbs) {
          const { scene, lease } = await leased(harness);
          const cancel = {
            taskId: scene.taskId,
            at: at(SECOND_MS),
            recoverAfterMs: RECOVER_MS,
            retentionMs: RETENTION_MS,
          };
          written(
            await harness.store.cancel({ ...cancel, token: harness.unique("cancel"), reason: "no longer needed" }),
          );
          const answer = await verb.call(harness, lease.next(), { queue: scene.queue, fence: 1 });
          assert.equal(answer.outcome, "written", verb.name);
          const ended = verb.name.startsWith("settle") || verb.name === "deadLetter";
          assert.equal(answer.record?.cancel_requested_at, ended ? undefined : timeAt(SECOND_MS), verb.name);
        }
      },
    },
    {
      name: "state that would make an unreadable record is refused by its name, and nothing is written",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const renew = (state: object) => harness.store.renew({ ...lease.next(), state, leaseMs: LEASE_MS });
        await expectInvalid(renew({ claim_count: Number.NaN }), /^state\.claim_count: got NaN/);
        await expectInvalid(renew({ attempt: -1 }), /state\.attempt/);
        await expectInvalid(renew({ renewal_count: 1.5 }), /state\.renewal_count/);
        await expectInvalid(renew({ stage: "thinking" }), /state\.stage/);
        await expectInvalid(
          renew({ last_claims: [{ stage: "preflight", at: timeAt(0) }] }),
          /state\.last_claims\[0\]\.reason/,
        );
        await expectInvalid(renew({ last_claims: [undefined] }), /state\.last_claims\[0\]: got nothing/);
        await expectInvalid(
          renew({ ...effectsState({ publish: effect({ begun_at: "yesterday" }) }) }),
          /state\.effects\.publish\.begun_at/,
        );
        await expectInvalid(renew({ status: "settled" }), /status/);
        await expectInvalid(
          renew({ effects: { publish: effect() } }),
          /state\.open_effects: got undefined, expected 1/,
        );
        await expectInvalid(
          renew({ effects: { publish: effect() }, open_effects: 0 }),
          /state\.open_effects: got 0, expected 1/,
        );
        await expectInvalid(renew({ open_effects: 0 }), /state\.open_effects/);
        await expectInvalid(harness.store.renew({ ...lease.next({ seq: 0 }), leaseMs: LEASE_MS }), /^seq: got 0/);
        await expectInvalid(
          harness.store.renew({ ...lease.next({ at: Number.NaN }), leaseMs: LEASE_MS }),
          /^at: got NaN/,
        );
        await expectInvalid(harness.store.renew({ ...lease.next(), leaseMs: -1 }), /^leaseMs: got -1/);
        assert.deepEqual(await scene.record(), lease.record);
      },
    },
    {
      name: "undefined in a holder's state is not stored, and text comes back well formed",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const publish = effect({ external_id: undefined, receipt: undefined });
        const last_claims = [
          { stage: "preflight" as const, reason: "read \ud800 draft", at: timeAt(0), guard: undefined },
        ];
        const state = { ...effectsState({ publish }), last_claims, attempt: undefined } as object;
        const answer = await harness.store.renew({ ...lease.next({ state }), leaseMs: LEASE_MS });
        const stored = await scene.record();
        assert.deepEqual(written(answer), stored);
        assert.ok(!("external_id" in (stored.effects["publish"] ?? {})));
        assert.equal(stored.attempt, 1);
        assert.equal(stored.last_claims[0]?.reason, "read \ufffd draft");
      },
    },
  ],
};
