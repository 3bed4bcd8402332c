import assert from "node:assert/strict";
import type { Page, TaskRecord, TaskStore } from "@leasehold/core";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  eventually,
  expectInvalid,
  leased,
  SECOND_MS,
  storeThatIsOvertaken,
  written,
} from "./support.ts";

type Ask = (page: { readonly limit?: number; readonly cursor?: string }) => Promise<Page<TaskRecord>>;

/** All pages of a listing, at most `limit` a page. */
async function readAll(ask: Ask, limit: number): Promise<readonly TaskRecord[]> {
  const records: TaskRecord[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask({ limit, ...(cursor === undefined ? {} : { cursor }) });
    assert.ok(page.items.length <= limit, "no page is longer than asked for");
    records.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return records;
}

/** Tasks of the case among all of a status, in the order of the listing. */
async function ownOf(ask: Ask, limit: number, own: ReadonlySet<string>): Promise<readonly string[]> {
  return (await readAll(ask, limit)).map(({ task_id }) => task_id).filter((id) => own.has(id));
}

export const listing: Suite<StoreHarness> = {
  subject: "listings",
  cases: [
    {
      name: "the tasks of a run come in the order of their creation, in pages, whatever became of them",
      async run(harness) {
        const run = harness.unique("run");
        const scenes = Array.from({ length: 7 }, () => createScene(harness));
        for (const [index, scene] of scenes.entries())
          await scene.create({ agentRunId: run, at: at((6 - index) * SECOND_MS) });
        await createScene(harness).create({ agentRunId: harness.unique("run") });
        const cancel = {
          at: at(10 * SECOND_MS),
          recoverAfterMs: 1,
          retentionMs: 1,
          token: harness.unique("cancel"),
          reason: "not needed",
        };
        written(await harness.store.cancel({ taskId: scenes[3]?.taskId ?? "", ...cancel }));
        const expected = scenes.map(({ taskId }) => taskId).reverse();
        for (const limit of [1, 3, 7, 100]) {
          const ask: Ask = (page) => harness.store.listByRun(run, page);
          const records = await eventually(
            harness,
            () => readAll(ask, limit),
            (found) => found.length === expected.length,
          );
          assert.deepEqual(
            records.map(({ task_id }) => task_id),
            expected,
            `${limit} a page`,
          );
        }
      },
    },
    {
      name: "an unknown run has no tasks",
      async run(harness) {
        assert.deepEqual(await harness.store.listByRun(harness.unique("run")), { items: [] });
      },
    },
    {
      name: "the tasks in a status come oldest first, merged from all shards, each once",
      async run(harness) {
        const scenes = [];
        for (let index = 0; index < 12; index++) {
          const { scene, lease } = await leased(harness);
          written(await harness.store.park({ ...lease.next(), endReason: "unresolved: look" }));
          scenes.push(scene);
        }
        const shards = await Promise.all(scenes.map(async (scene) => (await scene.record()).status_shard));
        assert.ok(new Set(shards).size > 1, "the tasks stand in several shards");
        const ids = scenes.map(({ taskId }) => taskId);
        const own = new Set(ids);
        const ask: Ask = (page) => harness.store.listByStatus("parked", page);
        await eventually(
          harness,
          () => ownOf(ask, 100, own),
          (found) => found.length === ids.length,
        );
        for (const limit of [1, 5, 1_000])
          assert.deepEqual((await ownOf(ask, limit, own)).toSorted(), ids.toSorted(), `${limit} a page`);
        const all = await readAll(ask, 7);
        const created = all.map(({ created_at }) => created_at);
        assert.deepEqual(created, created.toSorted());
        assert.ok(all.every(({ status }) => status === "parked"));
      },
    },
    {
      name: "a task is listed in the status it has, and in no other",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const own = new Set([scene.taskId]);
        const lists = async () => {
          const found = [];
          for (const status of ["queued", "leased", "released", "parked", "dead_lettered"] as const) {
            if ((await ownOf((page) => harness.store.listByStatus(status, page), 1_000, own)).length > 0)
              found.push(status);
          }
          return found.join();
        };
        await eventually(harness, lists, (found) => found === "leased");
        written(
          await harness.store.release({ ...lease.next(), queue: scene.queue, notBefore: at(0), recoverAfterMs: 1 }),
        );
        await eventually(harness, lists, (found) => found === "released");
        const second = await scene.acquire({ at: at(10 * SECOND_MS) });
        written(await harness.store.deadLetter({ ...second.next(), endReason: "permanent: no", retentionMs: 1_000 }));
        await eventually(harness, lists, (found) => found === "dead_lettered");
        const again = {
          taskId: scene.taskId,
          at: at(0),
          recoverAfterMs: 1,
          retentionMs: 1,
          token: harness.unique("reopen"),
        };
        written(await harness.store.reopen(again));
        await eventually(harness, lists, (found) => found === "queued");
        written(await harness.store.cancel({ ...again, token: harness.unique("cancel"), reason: "not needed" }));
        await eventually(harness, lists, (found) => found === "");
      },
    },
    {
      name: "a task that left the status after the index was read is not listed",
      async run(harness) {
        const { scene, lease } = await leased(harness);
        const listed = async (store: TaskStore) => {
          const own = new Set([scene.taskId]);
          return (await ownOf((page) => store.listByStatus("leased", page), 1_000, own)).length > 0;
        };
        await eventually(
          harness,
          () => listed(harness.store),
          (found) => found,
        );
        const slow = storeThatIsOvertaken(harness, "query", async () => {
          written(await harness.store.park({ ...lease.next(), endReason: "unresolved: look" }));
        });
        assert.equal(await listed(slow), false);
      },
    },
    {
      name: "a page that cannot be right is refused by the name of its field",
      async run(harness) {
        const { store } = harness;
        await expectInvalid(store.listByStatus("parked", { limit: 0 }), /^limit: got 0/);
        await expectInvalid(store.listByStatus("parked", { limit: 1.5 }), /^limit: got 1\.5/);
        await expectInvalid(store.listByStatus("parked", { cursor: "junk" }), /^cursor: /);
        await expectInvalid(store.listByStatus("parked", { cursor: "[1,2,3,4]" }), /^cursor: /);
        await expectInvalid(store.listByRun("run", { cursor: "junk" }), /^cursor: /);
        await expectInvalid(store.listByRun(""), /^agentRunId: got empty text/);
      },
    },
  ],
};
