import assert from "node:assert/strict";
import type { Item, TaskRecord } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  DAY_MS,
  effect,
  effectsState,
  eventually,
  LEASE_MS,
  leased,
  MINUTE_MS,
  RECOVER_MS,
  RETENTION_MS,
  receiptOf,
  type Scene,
  written,
} from "./support.ts";
import { holderVerbs } from "./verbs.ts";

/** What a later version might have put into a record. */
const LATER_FIELDS = { priority: 7, later: { list: [1, "two", null, { deep: true }] } };

function outside(harness: StoreHarness, scene: Scene) {
  return {
    taskId: scene.taskId,
    at: at(DAY_MS),
    recoverAfterMs: RECOVER_MS,
    retentionMs: RETENTION_MS,
    token: harness.unique("outside"),
  };
}

/** Insists on an error that names the record and the field, and on a record that is as it was. */
async function expectUnreadable(scene: Scene, field: string, call: () => Promise<unknown>): Promise<void> {
  const before = await scene.item();
  await assert.rejects(call(), (error: { code?: unknown; message?: unknown; details?: unknown }) => {
    assert.equal(error.code, "Unknown", String(error.message));
    assert.deepEqual(error.details, { task_id: scene.taskId, field });
    assert.match(String(error.message), new RegExp(scene.taskId));
    return true;
  });
  assert.deepEqual(await scene.item(), before);
}

export const records: Suite<StoreHarness> = {
  subject: "records of other versions",
  cases: [
    {
      name: "fields of a later version survive every write of a holder",
      async run(harness) {
        for (const verb of holderVerbs) {
          const scene = createScene(harness);
          await scene.create();
          await scene.tamper(LATER_FIELDS);
          const lease = await scene.acquire();
          const answer = await verb.call(harness, lease.next(), { queue: scene.queue, fence: 1 });
          assert.equal(answer.outcome, "written", verb.name);
          for (const [field, value] of Object.entries(LATER_FIELDS)) {
            assert.deepEqual((await scene.item())[field], value, `${field} after ${verb.name}`);
            assert.deepEqual(
              (answer.record as Item | undefined)?.[field],
              value,
              `${field} in the answer of ${verb.name}`,
            );
          }
        }
      },
    },
    {
      name: "fields of a later version survive cancel, resume, reopen and a moved check",
      async run(harness) {
        const { store } = harness;
        const scene = createScene(harness);
        await scene.create();
        await scene.tamper(LATER_FIELDS);
        const record = await scene.record();
        const check = {
          read: { check_at: record.check_at ?? "", status: "queued", fence: 0 },
          at: at(0),
          checkAt: at(DAY_MS),
          kind: "waiting",
        } as const;
        const steps: readonly (() => Promise<{ readonly outcome: string }>)[] = [
          () => store.moveCheck({ ...check, taskId: scene.taskId, queue: scene.queue, token: harness.unique("check") }),
          () => store.cancel({ ...outside(harness, scene), reason: "not needed" }),
          () => store.reopen(outside(harness, scene)),
          async () =>
            store.park({ ...(await scene.acquire({ at: at(DAY_MS) })).next(), endReason: "unresolved: look" }),
          () => store.resume({ ...outside(harness, scene), decision: "retry", by: "ada" }),
        ];
        for (const [index, step] of steps.entries()) {
          assert.equal((await step()).outcome, "written", `step ${index}`);
          const item = await scene.item();
          for (const [field, value] of Object.entries(LATER_FIELDS))
            assert.deepEqual(item[field], value, `${field} after step ${index}`);
        }
      },
    },
    {
      name: "fields of a later version inside effects, claims, attempts and receipts reach the holder and come back with its writes",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        const later = { later: { since: "version 9" } };
        const verified = {
          ...effect({ state: "verified" }),
          ...later,
          receipt: { ...receiptOf(scene.taskId), ...later },
        };
        const effects = { publish: verified, notify: { ...effect({ guard: "none" }), ...later } };
        const last_claims = [
          {
            stage: "external_call",
            reason: "sent 3 of 9",
            at: "2026-01-31T12:00:00.000Z",
            ...later,
            progress: { done: 3, ...later },
          },
        ];
        const attempts = [
          {
            attempt: 1,
            fence: 1,
            owner: "a",
            from: "2026-01-31T12:00:00.000Z",
            to: "2026-01-31T12:00:00.000Z",
            stage: "commit",
            how: "released",
            ...later,
          },
        ];
        await scene.tamper({ effects, open_effects: 1, last_claims, attempts } as unknown as Item);
        const lease = await scene.acquire();
        const { record } = lease;
        const state = {
          ...effectsState({ ...record.effects, log: effect({ key: "log" }) }),
          last_claims: record.last_claims,
          attempts: record.attempts,
        };
        written(await harness.store.beginEffect({ ...lease.next({ state }), leaseMs: LEASE_MS, effect: "log" }));
        written(await harness.store.park({ ...lease.next(), endReason: "unresolved: look" }));
        written(
          await harness.store.resume({
            ...outside(harness, scene),
            decision: "committed",
            effect: "notify",
            by: "ada",
          }),
        );
        const item = await scene.item();
        assert.deepEqual(item["effects"], {
          ...effects,
          notify: { ...effects.notify, state: "committed" },
          log: effect({ key: "log" }),
        });
        assert.deepEqual([item["last_claims"], item["attempts"]], [last_claims, attempts]);
      },
    },
    {
      name: "a record that does not parse is an error that names the field, in every verb that reads it",
      async run(harness) {
        const { store } = harness;
        const scene = createScene(harness);
        await scene.create();
        await scene.tamper({ effects: { publish: { ...effect(), state: "half-done" } as unknown as Item } });
        const field = "effects.publish.state";
        const about = outside(harness, scene);
        const check = {
          read: { check_at: "other", status: "queued", fence: 0 },
          at: at(0),
          checkAt: at(DAY_MS),
          kind: "waiting",
        } as const;
        await expectUnreadable(scene, field, () => store.get(scene.taskId));
        await expectUnreadable(scene, field, () => store.create(scene.newTask()));
        await expectUnreadable(scene, field, () => store.cancel({ ...about, reason: "not needed" }));
        await expectUnreadable(scene, field, () => store.resume({ ...about, decision: "retry", by: "ada" }));
        await expectUnreadable(scene, field, () => store.reopen(about));
        await expectUnreadable(scene, field, () =>
          store.moveCheck({ ...check, taskId: scene.taskId, queue: scene.queue, token: "check" }),
        );
        await expectUnreadable(scene, field, () =>
          store.acquire(scene.acquireRequest({ expect: { type: "other", inputHash: "other" } })),
        );
      },
    },
    {
      name: "an acquire of a record that does not parse costs it no attempt and leaves nobody holding it",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(
          await harness.store.release({
            ...lease.next(),
            queue: scene.queue,
            notBefore: at(0),
            recoverAfterMs: RECOVER_MS,
          }),
        );
        await scene.tamper({ stage: "negotiate" });
        const before = await scene.item();
        for (let tries = 1; tries <= 3; tries++) {
          await assert.rejects(harness.store.acquire(scene.acquireRequest({ at: at(MINUTE_MS) })), {
            code: "Unknown",
            message: /stage/,
          });
          assert.deepEqual(
            await scene.item(),
            { ...before, fence: 1 + tries },
            "but for the fence, which never goes back",
          );
        }
        await scene.tamper({ stage: "preflight" });
        assert.equal((await scene.acquire({ at: at(MINUTE_MS) })).record.attempt, 2);
      },
    },
    {
      name: "a lost lease is lost even when the record does not parse",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        await scene.acquire({ at: at(DAY_MS) });
        await scene.tamper({ stage: "negotiate" });
        assert.deepEqual(await harness.store.renew({ ...lease.next(), leaseMs: LEASE_MS }), { outcome: "lost" });
      },
    },
    {
      name: "a listing names the record that it cannot read",
      async run(harness) {
        const scene = createScene(harness);
        const run = harness.unique("run");
        await scene.create({ agentRunId: run });
        await eventually(
          harness,
          () => harness.store.listByRun(run),
          ({ items }) => items.length === 1,
        );
        await scene.tamper({ open_effects: "none" });
        await expectUnreadable(scene, "open_effects", () => harness.store.listByRun(run));
      },
    },
    {
      name: "a payload or a result that is no text is an error that names the item",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const { payload_ref } = lease.record;
        await harness.items.put(payload_ref, { text: 7 }, { exists: "text" });
        await assert.rejects(harness.store.payload(scene.taskId, payload_ref), {
          code: "Unknown",
          message: new RegExp(`${payload_ref}.*text`),
        });
        const settled = {
          fence: 1,
          result: JSON.stringify("x".repeat(2_000)),
          receipt: receiptOf(scene.taskId),
          retentionMs: RETENTION_MS,
        };
        const record: TaskRecord = written(await harness.store.settle({ ...lease.next(), ...settled }));
        await harness.items.put(record.result_ref ?? "", { other: 1 }, { exists: "text" });
        await assert.rejects(harness.store.result(record), { code: "Unknown", message: /text/ });
      },
    },
    {
      name: "what was read cannot be used to change what is stored",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(
          await harness.store.renew({
            ...lease.next({ state: effectsState({ publish: effect() }) }),
            leaseMs: LEASE_MS,
          }),
        );
        const before = structuredClone(await scene.item());
        for (const record of [await scene.record(), lease.record, lease.answer.previous as TaskRecord]) {
          const attempt = () => {
            Object.assign(record, { status: "settled", fence: 9 });
            Object.assign(record.effects["publish"] ?? {}, { state: "verified" });
            record.last_claims.push({ stage: "preflight", reason: "forged", at: "2026-01-31T12:00:00.000Z" });
          };
          try {
            attempt();
          } catch (error) {
            assert.ok(error instanceof TypeError, "a frozen record says so");
          }
        }
        assert.deepEqual(await scene.item(), before);
      },
    },
  ],
};
