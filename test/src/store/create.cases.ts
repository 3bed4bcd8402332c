import assert from "node:assert/strict";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  DAY_MS,
  expectInvalid,
  LEASE_MS,
  leased,
  MINUTE_MS,
  RECOVER_MS,
  RETENTION_MS,
  SECOND_MS,
  START_MS,
  timeAt,
  written,
} from "./support.ts";

const MAX_INPUT_BYTES = 380 * 1024;

/** When a payload of a task created at `ms` expires, in epoch seconds. */
function payloadExpiryAt(ms: number): number {
  return (START_MS + ms + 2 * RETENTION_MS) / SECOND_MS;
}

export const creating: Suite<StoreHarness> = {
  subject: "create",
  cases: [
    {
      name: "a new task waits in its queue, never acquired, with its payload stored",
      async run(harness) {
        const scene = createScene(harness);
        const run = harness.unique("run");
        const created = await scene.create({
          agentRunId: run,
          orderingKey: "customer-7",
          traceId: "abc",
          deadline: at(DAY_MS),
        });
        const record = await scene.record();
        assert.deepEqual(record, created);
        const { lease_token: _token, check_shard, status_shard, payload_ref, ...rest } = record;
        assert.deepEqual(rest, {
          task_id: scene.taskId,
          task_type: "publish_post",
          queue: scene.queue,
          agent_run_id: run,
          status: "queued",
          stage: "preflight",
          fence: 0,
          lease_seq: 0,
          renewal_count: 0,
          attempt: 0,
          attempts_total: 0,
          delivery_count: 0,
          deadline: timeAt(DAY_MS),
          check_at: timeAt(RECOVER_MS),
          sent_at: timeAt(0),
          ordering_key: "customer-7",
          input_hash: "hash-1",
          idempotency_key: `${scene.taskId}-key`,
          effects: {},
          open_effects: 0,
          last_claims: [],
          claim_count: 0,
          attempts: [],
          trace_id: "abc",
          created_at: timeAt(0),
          updated_at: timeAt(0),
        });
        assert.match(check_shard ?? "", new RegExp(`^${scene.queue}#w[0-7]$`));
        assert.match(status_shard ?? "", /^queued#[0-3]$/);
        assert.equal(payload_ref, `payload#${scene.taskId}#hash-1`);
        assert.equal(await harness.store.payload(scene.taskId, payload_ref), '{"draft":1}');
        assert.equal((await scene.payloadItem())?.["expire_at"], payloadExpiryAt(0));
      },
    },
    {
      name: "a delayed task is looked for after its time, and its payload lives from then",
      async run(harness) {
        const scene = createScene(harness);
        const record = await scene.create({ notBefore: at(30 * DAY_MS) });
        assert.equal(record.not_before, timeAt(30 * DAY_MS));
        assert.equal(record.sent_at, timeAt(30 * DAY_MS));
        assert.equal(record.check_at, timeAt(30 * DAY_MS + RECOVER_MS));
        assert.equal((await scene.payloadItem())?.["expire_at"], payloadExpiryAt(30 * DAY_MS));
      },
    },
    {
      name: "create and acquire in one write",
      async run(harness) {
        const scene = createScene(harness);
        const record = await scene.create({ lease: { owner: "worker-a", leaseMs: LEASE_MS }, token: "mine" });
        assert.equal(record.status, "leased");
        assert.deepEqual([record.fence, record.attempt, record.attempts_total, record.delivery_count], [1, 1, 1, 1]);
        assert.deepEqual([record.lease_token, record.lease_seq, record.lease_owner], ["mine", 0, "worker-a"]);
        assert.deepEqual([record.acquired_at, record.lease_expires_at], [timeAt(0), timeAt(LEASE_MS)]);
        assert.match(record.check_shard ?? "", /#l[0-7]$/);
        assert.match(record.status_shard ?? "", /^leased#/);
        const write = { taskId: scene.taskId, token: "mine", seq: 1, at: at(SECOND_MS) };
        written(await harness.store.renew({ ...write, leaseMs: LEASE_MS }));
      },
    },
    {
      name: "a second create finds the first, whatever its payload or type",
      async run(harness) {
        const scene = createScene(harness);
        const created = await scene.create();
        for (const other of [{}, { input: '{"draft":2}', inputHash: "hash-2" }, { type: "send_mail" }]) {
          const answer = await harness.store.create(
            scene.newTask({ ...other, at: at(SECOND_MS), lease: { owner: "b", leaseMs: LEASE_MS } }),
          );
          assert.deepEqual(answer, { outcome: "exists", record: created });
        }
        assert.deepEqual(await scene.record(), created);
        assert.equal(await harness.store.payload(scene.taskId, created.payload_ref), '{"draft":1}');
      },
    },
    {
      name: "of 50 creates at once one makes the task",
      async run(harness) {
        const scene = createScene(harness);
        const answers = await Promise.all(Array.from({ length: 50 }, () => harness.store.create(scene.newTask())));
        assert.equal(answers.filter(({ outcome }) => outcome === "created").length, 1);
        assert.equal(new Set(answers.map(({ record }) => record.lease_token)).size, 1);
      },
    },
    {
      name: "a create that finds the payload pushes its expiry and never lowers it",
      async run(harness) {
        const scene = createScene(harness);
        await scene.create();
        await harness.store.create(scene.newTask({ at: at(DAY_MS) }));
        assert.equal((await scene.payloadItem())?.["expire_at"], payloadExpiryAt(DAY_MS));
        await harness.store.create(scene.newTask({ at: at(MINUTE_MS) }));
        assert.equal((await scene.payloadItem())?.["expire_at"], payloadExpiryAt(DAY_MS));
      },
    },
    {
      name: "a create leaves the payload of a parked task without expiry",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(await harness.store.park({ ...lease.next(), endReason: "unresolved: look" }));
        await harness.store.create(scene.newTask({ at: at(DAY_MS) }));
        assert.equal((await scene.payloadItem())?.["expire_at"], undefined);
      },
    },
    {
      name: "an input may have 380 KB and not a byte more",
      async run(harness) {
        const scene = createScene(harness);
        const input = `"${"é".repeat(MAX_INPUT_BYTES / 2 - 1)}"`;
        await assert.rejects(harness.store.create(scene.newTask({ input: `${input} ` })), {
          code: "PayloadTooLarge",
          details: { limit: MAX_INPUT_BYTES, size: MAX_INPUT_BYTES + 1 },
        });
        assert.equal(await harness.store.get(scene.taskId), undefined);
        const record = await scene.create({ input });
        assert.equal(await harness.store.payload(scene.taskId, record.payload_ref), input);
      },
    },
    {
      name: "awkward inputs come back as they were",
      async run(harness) {
        const inputs = [
          "{}",
          '""',
          '"\\ud800 \\u0000 \\ufffe"',
          JSON.stringify("ü 漢字 😀 \u007f \u2028"),
          "[null,0,-0.5,1e300]",
        ];
        for (const input of inputs) {
          const scene = createScene(harness);
          const { payload_ref } = await scene.create({ input });
          assert.equal(await harness.store.payload(scene.taskId, payload_ref), input);
        }
      },
    },
    {
      name: "a payload is served to its own task only",
      async run(harness) {
        const scene = createScene(harness);
        const other = createScene(harness);
        const { payload_ref } = await scene.create();
        await other.create();
        assert.equal(await harness.store.payload(other.taskId, payload_ref), undefined);
        assert.equal(await harness.store.payload(scene.taskId, `payload#${scene.taskId}#other-hash`), undefined);
      },
    },
    {
      name: "what cannot be stored is refused by its name, and nothing is stored",
      async run(harness) {
        const { store } = harness;
        const scene = createScene(harness);
        const create = (more: object) => store.create(scene.newTask(more));
        await expectInvalid(create({ taskId: "" }), /^taskId: got empty text/);
        await expectInvalid(create({ taskId: "a b" }), /^taskId: .* 1 to 64 of A-Z/);
        await expectInvalid(create({ taskId: "x".repeat(65) }), /^taskId: /);
        await expectInvalid(create({ at: Number.NaN }), /^at: got NaN, expected milliseconds/);
        await expectInvalid(create({ at: undefined }), /^at: got nothing/);
        await expectInvalid(create({ at: 1e15 }), /^at: .* the year 9999/);
        await expectInvalid(create({ notBefore: -1 }), /^notBefore: got -1/);
        await expectInvalid(create({ deadline: Number.POSITIVE_INFINITY }), /^deadline: got Infinity/);
        await expectInvalid(create({ recoverAfterMs: -1 }), /^recoverAfterMs: got -1/);
        await expectInvalid(create({ retentionMs: Number.NaN }), /^retentionMs: got NaN/);
        await expectInvalid(create({ queue: "" }), /^queue: got empty text/);
        await expectInvalid(create({ agentRunId: "" }), /^agentRunId: got empty text/);
        await expectInvalid(create({ agentRunId: "x".repeat(1_025) }), /^agentRunId: got 1025 bytes/);
        await expectInvalid(create({ input: { draft: 1 } }), /^input: .*JSON text/);
        await expectInvalid(create({ lease: { owner: "", leaseMs: 1 } }), /^lease\.owner: got empty text/);
        await expectInvalid(create({ lease: { owner: "a", leaseMs: Number.NaN } }), /^lease\.leaseMs: got NaN/);
        assert.equal(await store.get(scene.taskId), undefined);
      },
    },
    {
      name: "fields that are undefined are not stored",
      async run(harness) {
        const scene = createScene(harness);
        const more = { agentRunId: undefined, notBefore: undefined, lease: undefined, traceId: undefined } as object;
        await scene.create(more);
        const item = await scene.item();
        for (const field of ["agent_run_id", "not_before", "trace_id", "lease_owner"])
          assert.ok(!(field in item), field);
      },
    },
  ],
};
