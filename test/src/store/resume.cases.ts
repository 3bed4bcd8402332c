import assert from "node:assert/strict";
import type { TaskRecord, TaskStore } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import { cancel, expectRefused, LATER, payloadExpiry, request, taskIn } from "./outside.ts";
import {
  at,
  createScene,
  effect,
  expectInvalid,
  RECOVER_MS,
  receiptOf,
  type Scene,
  SECOND_MS,
  timeAt,
  written,
} from "./support.ts";

type Resume = Parameters<TaskStore["resume"]>[0];

function reopen(harness: StoreHarness, scene: Scene, more: Partial<Parameters<TaskStore["reopen"]>[0]> = {}) {
  return harness.store.reopen({ ...request(harness, scene), ...more });
}

function resume(harness: StoreHarness, scene: Scene, more: Partial<Resume> & Pick<Resume, "decision">) {
  return harness.store.resume({ ...request(harness, scene), by: "ada", ...more });
}

/** How a task looks that goes back into its queue a day after the start. */
function expectRequeued(record: TaskRecord, stage: string): void {
  assert.deepEqual([record.status, record.stage, record.attempt], ["queued", stage, 0]);
  assert.deepEqual([record.sent_at, record.check_at], [timeAt(LATER), timeAt(LATER + RECOVER_MS)]);
  assert.match(record.check_shard ?? "", new RegExp(`^${record.queue}#w`));
  assert.match(record.status_shard ?? "", /^queued#/);
  for (const field of ["not_before", "cancel_requested_at", "expire_at", "end_reason", "unread_releases"] as const) {
    assert.equal(record[field], undefined, field);
  }
  assert.deepEqual(
    record.last_claims,
    [{ stage: "external_call", reason: "sent 3 of 9", at: timeAt(SECOND_MS) }],
    "the claim stays, its guard goes",
  );
}

export const resuming: Suite<StoreHarness> = {
  subject: "resume and reopen",
  cases: [
    {
      name: "resume with retry puts a parked task back at the stage of what is open",
      async run(harness) {
        const rows = [
          [{}, "preflight"],
          [{ publish: effect({ state: "committed" }) }, "verify"],
          [{ publish: effect({ guard: "none" }), notify: effect({ state: "committed" }) }, "commit"],
          [{ publish: effect({ state: "verified", receipt: receiptOf("task") }) }, "preflight"],
        ] as const;
        for (const [effects, stage] of rows) {
          const scene = await taskIn(harness, "parked", effects);
          const record = written(await resume(harness, scene, { decision: "retry", note: "the key was wrong" }));
          expectRequeued(record, stage);
          assert.deepEqual(record.effects, effects);
          assert.deepEqual(record.resolution, {
            decision: "retry",
            by: "ada",
            note: "the key was wrong",
            at: timeAt(LATER),
          });
          assert.equal(record.allow_commit, undefined);
          assert.equal((await scene.payloadItem())?.["expire_at"], payloadExpiry);
          assert.deepEqual(await scene.record(), record);
          await scene.acquire({ at: at(LATER) });
        }
      },
    },
    {
      name: "resume with commit-again allows one more begin of the effect that is open",
      async run(harness) {
        const scene = await taskIn(harness, "parked", {
          publish: effect({ guard: "none" }),
          notify: effect({ state: "failed" }),
        });
        const record = written(await resume(harness, scene, { decision: "commit-again" }));
        expectRequeued(record, "commit");
        assert.deepEqual([record.allow_commit, record.resolution?.effect], [1, "publish"]);
        assert.equal(record.effects["publish"]?.state, "started");
      },
    },
    {
      name: "resume with committed writes what the person found",
      async run(harness) {
        const scene = await taskIn(harness, "parked", { publish: effect({ guard: "none" }), notify: effect() });
        const record = written(
          await resume(harness, scene, { decision: "committed", effect: "publish", externalId: "2451" }),
        );
        expectRequeued(record, "commit");
        assert.deepEqual(record.effects, {
          publish: effect({ guard: "none", state: "committed", external_id: "2451" }),
          notify: effect(),
        });
        assert.equal(record.open_effects, 2);
        assert.deepEqual(record.resolution, {
          decision: "committed",
          effect: "publish",
          external_id: "2451",
          by: "ada",
          at: timeAt(LATER),
        });
      },
    },
    {
      name: "committed also holds for an effect that was thought to have failed",
      async run(harness) {
        const scene = await taskIn(harness, "parked", { publish: effect({ state: "failed", external_id: "7" }) });
        const record = written(await resume(harness, scene, { decision: "committed", effect: "publish" }));
        assert.deepEqual(record.effects, { publish: effect({ state: "committed", external_id: "7" }) });
        assert.deepEqual([record.open_effects, record.stage], [1, "verify"]);
      },
    },
    {
      name: "a decision that does not say which effect is refused, naming the open ones",
      async run(harness) {
        const open = { publish: effect({ guard: "none" }), notify: effect({ guard: "none" }) };
        const scene = await taskIn(harness, "parked", {
          ...open,
          log: effect({ state: "verified", receipt: receiptOf("task") }),
        });
        const before = await scene.record();
        for (const decision of ["commit-again", "committed"] as const) {
          await expectInvalid(
            resume(harness, scene, { decision }),
            /^effect: .*several effects are open.*publish, notify/,
          );
          await expectInvalid(
            resume(harness, scene, { decision, effect: "log" }),
            /^effect: .*log.*receipt.*publish, notify/,
          );
          await expectInvalid(
            resume(harness, scene, { decision, effect: "other" }),
            /^effect: .*"other".*publish, notify/,
          );
        }
        await expectInvalid(resume(harness, scene, { decision: "retry", effect: "toString" }), /^effect: .*"toString"/);
        await expectInvalid(
          resume(harness, scene, { decision: "guess" as "retry" }),
          /^decision: .*"guess".*retry, commit-again, committed/,
        );
        await expectInvalid(resume(harness, scene, { decision: "retry", by: "" }), /^by: got empty text/);
        await expectInvalid(
          resume(harness, scene, { decision: "committed", effect: "publish", externalId: "x".repeat(513) }),
          /^externalId: got 513 bytes/,
        );
        assert.deepEqual(await scene.record(), before);

        const none = await taskIn(harness, "parked");
        await expectInvalid(resume(harness, none, { decision: "commit-again" }), /^effect: .*no effect is open/);
      },
    },
    {
      name: "a later decision withdraws a permission that was not used",
      async run(harness) {
        const scene = await taskIn(harness, "parked", { publish: effect({ guard: "none" }) });
        written(await resume(harness, scene, { decision: "commit-again" }));
        const lease = await scene.acquire({ at: at(LATER) });
        written(await harness.store.park({ ...lease.next(), endReason: "unresolved: again" }));
        assert.equal(written(await resume(harness, scene, { decision: "retry" })).allow_commit, undefined);
      },
    },
    {
      name: "resume leaves nothing but parked",
      async run(harness) {
        for (const status of ["queued", "leased", "released", "settled", "dead_lettered", "cancelled"] as const) {
          const scene = await taskIn(harness, status);
          await expectRefused(scene, () => resume(harness, scene, { decision: "retry" }));
        }
        assert.deepEqual(await resume(harness, createScene(harness), { decision: "retry" }), { outcome: "missing" });
      },
    },
    {
      name: "reopen puts a dead-lettered, parked or cancelled task back, with its effects and without its attempts",
      async run(harness) {
        for (const status of ["dead_lettered", "parked", "cancelled"] as const) {
          const effects = {
            publish: effect({ state: "committed" }),
            log: effect({ state: "verified", receipt: receiptOf("task") }),
          };
          const scene = await taskIn(harness, status, effects);
          const record = written(await reopen(harness, scene));
          expectRequeued(record, "verify");
          assert.deepEqual([record.effects, record.open_effects], [effects, 1], status);
          assert.deepEqual([record.fence, record.attempts_total], [1, 1], status);
          assert.equal((await scene.payloadItem())?.["expire_at"], payloadExpiry, status);
          assert.deepEqual(await scene.record(), record);
          assert.equal((await scene.acquire({ at: at(LATER) })).record.fence, 2, status);
        }
      },
    },
    {
      name: "reopen leaves no live, waiting or settled task",
      async run(harness) {
        for (const status of ["queued", "leased", "released", "settled"] as const) {
          const scene = await taskIn(harness, status);
          await expectRefused(scene, () => reopen(harness, scene));
        }
        assert.deepEqual(await reopen(harness, createScene(harness)), { outcome: "missing" });
      },
    },
    {
      name: "reopen under a fence leaves a task alone that has moved on",
      async run(harness) {
        const scene = await taskIn(harness, "dead_lettered");
        await expectRefused(scene, () => reopen(harness, scene, { fence: 2 }));
        written(await reopen(harness, scene, { fence: 1 }));
      },
    },
    {
      name: "reopen withdraws a permission that was not used",
      async run(harness) {
        const scene = await taskIn(harness, "parked", { publish: effect({ guard: "none" }) });
        written(await resume(harness, scene, { decision: "commit-again" }));
        written(await cancel(harness, scene));
        const lease = await scene.acquire({ at: at(LATER) });
        written(await harness.store.park({ ...lease.next(), endReason: "unresolved: again" }));
        assert.equal(written(await reopen(harness, scene)).allow_commit, undefined);
      },
    },
    {
      name: "resume and reopen take a new deadline, keep one to come and drop one that has passed",
      async run(harness) {
        const put = async (deadline: number, more: { readonly deadline?: number }): Promise<string | undefined> => {
          const scene = createScene(harness);
          await scene.create({ deadline });
          const lease = await scene.acquire();
          written(await harness.store.park({ ...lease.next(), endReason: "unresolved: look" }));
          return written(await resume(harness, scene, { decision: "retry", ...more })).deadline;
        };
        assert.equal(await put(at(2 * LATER), {}), timeAt(2 * LATER));
        assert.equal(await put(at(LATER), {}), undefined);
        assert.equal(await put(at(LATER), { deadline: at(3 * LATER) }), timeAt(3 * LATER));
        assert.equal(await put(at(2 * LATER), { deadline: at(LATER) }), undefined);
      },
    },
    {
      name: "of ten who decide at once one is heard",
      async run(harness) {
        const scene = await taskIn(harness, "parked", { publish: effect({ guard: "none" }) });
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) =>
            index % 2 === 0
              ? resume(harness, scene, { decision: "retry", by: `person-${index}` })
              : reopen(harness, scene),
          ),
        );
        assert.equal(answers.filter(({ outcome }) => outcome === "written").length, 1);
        assert.equal((await scene.record()).status, "queued");
      },
    },
  ],
};
