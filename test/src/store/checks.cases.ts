import assert from "node:assert/strict";
import type { TaskRecord, TaskStore } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  DAY_MS,
  eventually,
  expectInvalid,
  leased,
  MINUTE_MS,
  RECOVER_MS,
  type Scene,
  SECOND_MS,
  timeAt,
  written,
} from "./support.ts";
import { holderVerb } from "./verbs.ts";

const SHARDS = [0, 1, 2, 3, 4, 5, 6, 7];

type Move = Parameters<TaskStore["moveCheck"]>[0];

/** What a recovery loop sees of a queue, over all shards. */
async function due(
  harness: StoreHarness,
  queue: string,
  kind: "waiting" | "leased",
  atMs: number,
): Promise<readonly string[]> {
  const shards = await Promise.all(
    SHARDS.map((shard) => harness.store.dueForCheck({ queue, kind, shard, at: at(atMs) })),
  );
  return shards
    .flatMap(({ items }) => items)
    .map(({ taskId }) => taskId)
    .sort();
}

function move(harness: StoreHarness, record: TaskRecord, more: Partial<Move> = {}): Move {
  return {
    taskId: record.task_id,
    queue: record.queue,
    read: { check_at: record.check_at ?? "none", status: record.status, fence: record.fence },
    at: at(RECOVER_MS),
    checkAt: at(2 * RECOVER_MS),
    sentAt: at(RECOVER_MS),
    kind: "waiting",
    token: harness.unique("check"),
    ...more,
  };
}

/** Another task of the same queue, with an id that falls into the same shard. */
async function neighbour(harness: StoreHarness, scene: Scene, createdMs: number): Promise<TaskRecord> {
  const wanted = (await scene.record()).check_shard;
  for (;;) {
    const other = createScene(harness);
    const record = await other.create({ queue: scene.queue, at: at(createdMs) });
    if (record.check_shard === wanted) return record;
  }
}

export const checking: Suite<StoreHarness> = {
  subject: "recovery checks",
  cases: [
    {
      name: "a task is due from its check on, in its own shard, until it ends",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const record = await scene.record();
        const shard = Number(record.check_shard?.at(-1));
        await eventually(
          harness,
          () => due(harness, scene.queue, "waiting", RECOVER_MS),
          (ids) => ids.includes(scene.taskId),
        );
        const { items: inShard } = await harness.store.dueForCheck({
          queue: scene.queue,
          kind: "waiting",
          shard,
          at: at(RECOVER_MS),
        });
        assert.deepEqual(inShard, [{ taskId: scene.taskId, checkAt: at(RECOVER_MS) }]);
        assert.deepEqual(await due(harness, scene.queue, "waiting", RECOVER_MS - 1), [], "not before");
        assert.deepEqual(await due(harness, scene.queue, "leased", RECOVER_MS), [], "not among the leased");
        await holderVerb("settle").call(harness, lease.next(), { queue: scene.queue, fence: 1 });
        await eventually(
          harness,
          () => due(harness, scene.queue, "waiting", DAY_MS),
          (ids) => ids.length === 0,
        );
      },
    },
    {
      name: "every end takes a task out of the recovery loop's sight",
      async run(harness) {
        for (const end of ["settle", "deadLetter", "park", "endCancelled"]) {
          const { scene, lease } = await leased(harness);
          await eventually(
            harness,
            () => due(harness, scene.queue, "waiting", DAY_MS),
            (ids) => ids.length === 1,
          );
          await holderVerb(end).call(harness, lease.next(), { queue: scene.queue, fence: 1 });
          await eventually(
            harness,
            () => due(harness, scene.queue, "waiting", DAY_MS),
            (ids) => ids.length === 0,
          );
        }
      },
    },
    {
      name: "two queues on one store see their own tasks",
      async run(harness) {
        const [one, two] = [createScene(harness), createScene(harness)];
        await one.create();
        await two.create();
        for (const scene of [one, two]) {
          const ids = await eventually(
            harness,
            () => due(harness, scene.queue, "waiting", DAY_MS),
            (found) => found.length > 0,
          );
          assert.deepEqual(ids, [scene.taskId]);
        }
        assert.deepEqual(await due(harness, `${one.queue}#w1`, "waiting", DAY_MS), []);
      },
    },
    {
      name: "what is due comes oldest first, no more than asked for, and from where the last page ended",
      async run(harness) {
        const scene = createScene(harness);
        const first = await scene.create({ at: at(3 * SECOND_MS) });
        const second = await neighbour(harness, scene, SECOND_MS);
        const third = await neighbour(harness, scene, 2 * SECOND_MS);
        const request = {
          queue: scene.queue,
          kind: "waiting",
          shard: Number(first.check_shard?.at(-1)),
          at: at(DAY_MS),
        } as const;
        const ask = async () => (await harness.store.dueForCheck(request)).items.map(({ taskId }) => taskId);
        await eventually(harness, ask, (ids) => ids.length === 3);
        assert.deepEqual(await ask(), [second.task_id, third.task_id, first.task_id]);
        const pages: (readonly string[])[] = [];
        for (let cursor: string | undefined, asked = 0; asked === 0 || cursor !== undefined; asked++) {
          const page = await harness.store.dueForCheck({
            ...request,
            limit: 1,
            ...(cursor !== undefined && { cursor }),
          });
          pages.push(page.items.map(({ taskId }) => taskId));
          cursor = page.cursor;
        }
        assert.deepEqual(pages, [[second.task_id], [third.task_id], [first.task_id]]);
        const { cursor } = await harness.store.dueForCheck({ ...request, limit: 1 });
        written(await harness.store.moveCheck(move(harness, second, { checkAt: at(2 * DAY_MS) })));
        const next = await harness.store.dueForCheck({ ...request, limit: 1, ...(cursor !== undefined && { cursor }) });
        assert.deepEqual(
          next.items.map(({ taskId }) => taskId),
          [third.task_id],
          "also when the entry that it ended with has moved away",
        );
      },
    },
    {
      name: "ten who find a task due at once: one moves its check",
      async run(harness) {
        const scene = createScene(harness);
        const record = await scene.create();
        const shard = Number(record.check_shard?.at(-1));
        const request = { queue: scene.queue, kind: "waiting", shard, at: at(RECOVER_MS) } as const;
        const ask = async () => (await harness.store.dueForCheck(request)).items;
        await eventually(harness, ask, (tasks) => tasks.length === 1);
        const found = await Promise.all(Array.from({ length: 10 }, ask));
        assert.deepEqual(new Set(found.map((tasks) => tasks.length)), new Set([1]));
        const answers = await Promise.all(found.map(() => harness.store.moveCheck(move(harness, record))));
        assert.equal(answers.filter(({ outcome }) => outcome === "written").length, 1);
        assert.equal(answers.filter(({ outcome }) => outcome === "refused").length, 9);
        const moved = await scene.record();
        assert.deepEqual([moved.check_at, moved.sent_at], [timeAt(2 * RECOVER_MS), timeAt(RECOVER_MS)]);
        await eventually(harness, ask, (tasks) => tasks.length === 0);
      },
    },
    {
      name: "a move without a message leaves the time of sending",
      async run(harness) {
        const scene = createScene(harness);
        const { sentAt: _, ...silent } = move(harness, await scene.create());
        assert.equal(written(await harness.store.moveCheck(silent)).sent_at, timeAt(0));
      },
    },
    {
      name: "a leased task that is found among the waiting moves to the leased",
      async run(harness) {
        const { scene } = await leased(harness);
        const record = written(await harness.store.moveCheck(move(harness, await scene.record(), { kind: "leased" })));
        assert.match(record.check_shard ?? "", new RegExp(`^${scene.queue}#l`));
        assert.equal(record.expiry_counted, undefined);
        await eventually(
          harness,
          () => due(harness, scene.queue, "leased", DAY_MS),
          (ids) => ids.length === 1,
        );
        await eventually(
          harness,
          () => due(harness, scene.queue, "waiting", DAY_MS),
          (ids) => ids.length === 0,
        );
      },
    },
    {
      name: "a check is not moved on a record that has changed since it was read",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const read = await scene.record();
        written(await harness.store.moveCheck(move(harness, read, { checkAt: at(DAY_MS) })));
        const moved = await scene.record();
        for (const stale of [read, { ...moved, status: "queued" as const }, { ...moved, fence: 2 }]) {
          const answer = await harness.store.moveCheck(move(harness, stale, { countExpiry: true }));
          assert.deepEqual(answer, { outcome: "refused", record: moved });
        }
        await holderVerb("settle").call(harness, lease.next(), { queue: scene.queue, fence: 1 });
        assert.equal(
          (await harness.store.moveCheck(move(harness, moved))).outcome,
          "refused",
          "a settled task is not brought back",
        );
        assert.equal((await scene.record()).check_at, undefined);
      },
    },
    {
      name: "a move takes nothing from a live holder",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        written(await harness.store.moveCheck(move(harness, await scene.record(), { kind: "leased" })));
        const answer = await holderVerb("renew").call(harness, lease.next(), { queue: scene.queue, fence: 1 });
        assert.equal(answer.outcome, "written");
        const { check_at, check_shard } = await scene.record();
        assert.equal(check_at, timeAt(2 * RECOVER_MS), "a renewal leaves it");
        assert.match(check_shard ?? "", /#l/);
      },
    },
    {
      name: "a move on a missing task says so",
      async run(harness) {
        const scene = createScene(harness);
        const record = await scene.create();
        assert.deepEqual(await harness.store.moveCheck(move(harness, record, { taskId: harness.unique("task") })), {
          outcome: "missing",
        });
      },
    },
    {
      name: "a request that cannot be right is refused by the name of its field",
      async run(harness) {
        const scene = createScene(harness);
        const record = await scene.create();
        const request = { queue: scene.queue, kind: "waiting", shard: 0, at: at(MINUTE_MS) } as const;
        await expectInvalid(harness.store.dueForCheck({ ...request, shard: 8 }), /^shard: /);
        await expectInvalid(harness.store.dueForCheck({ ...request, at: Number.NaN }), /^at: got NaN/);
        await expectInvalid(harness.store.dueForCheck({ ...request, queue: "" }), /^queue: got empty text/);
        await expectInvalid(harness.store.dueForCheck({ ...request, limit: 0 }), /^limit: got 0/);
        await expectInvalid(harness.store.dueForCheck({ ...request, cursor: "none" }), /^cursor: got text/);
        await expectInvalid(
          harness.store.moveCheck(move(harness, record, { checkAt: Number.NaN })),
          /^checkAt: got NaN/,
        );
        assert.deepEqual(await scene.record(), record);
      },
    },
  ],
};
