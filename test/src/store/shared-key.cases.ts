import assert from "node:assert/strict";
import type { TaskStore } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import { at, DAY_MS, expectInvalid, RETENTION_MS, SECOND_MS, START_MS } from "./support.ts";

type Claim = Parameters<TaskStore["claimKey"]>[0];

/** Two tasks and one key. */
function createKey(harness: StoreHarness) {
  const key = harness.unique("key");
  const [ada, bob] = [harness.unique("ada"), harness.unique("bob")];
  const owner = (task_id: string, fence: number) => ({ task_id, fence });
  const claim = (who: Claim["owner"], more: Partial<Claim> = {}) =>
    harness.store.claimKey({ system: "wordpress", key, owner: who, at: START_MS, retentionMs: RETENTION_MS, ...more });
  const item = () => harness.items.get(`key#wordpress#${key}`);
  return { key, ada: (fence: number) => owner(ada, fence), bob: (fence: number) => owner(bob, fence), claim, item };
}

export const sharedKeys: Suite<StoreHarness> = {
  subject: "shared keys",
  cases: [
    {
      name: "who comes first owns the key, and another is told who does",
      async run(harness) {
        const { ada, bob, claim, item } = createKey(harness);
        assert.deepEqual(await claim(ada(1)), { outcome: "claimed", fresh: true });
        assert.deepEqual(await claim(bob(7)), { outcome: "held", owner: ada(1) });
        assert.deepEqual(await item(), { ...ada(1), expire_at: (START_MS + 2 * RETENTION_MS) / SECOND_MS });
      },
    },
    {
      name: "of 50 who claim at once one owns the key",
      async run(harness) {
        const { ada, claim } = createKey(harness);
        const owners = Array.from({ length: 50 }, (_, index) => ({ task_id: `${ada(1).task_id}-${index}`, fence: 1 }));
        const answers = await Promise.all(owners.map((owner) => claim(owner)));
        assert.equal(answers.filter((answer) => answer.outcome === "claimed" && answer.fresh).length, 1);
        assert.equal(answers.filter((answer) => answer.outcome === "held").length, 49);
      },
    },
    {
      name: "a later lease of the owner takes the key along, an earlier one does not",
      async run(harness) {
        const { ada, claim, item } = createKey(harness);
        await claim(ada(2));
        assert.deepEqual(await claim(ada(3), { at: at(DAY_MS) }), { outcome: "claimed", fresh: false });
        assert.equal(
          (await item())?.["expire_at"],
          (START_MS + DAY_MS + 2 * RETENTION_MS) / SECOND_MS,
          "its expiry is pushed",
        );
        assert.deepEqual(await claim(ada(2)), { outcome: "held", owner: ada(3) });
        assert.equal((await item())?.["fence"], 3);
      },
    },
    {
      name: "the same claim again is no fresh one",
      async run(harness) {
        const { ada, claim } = createKey(harness);
        await claim(ada(1));
        assert.deepEqual(await claim(ada(1)), { outcome: "claimed", fresh: false });
      },
    },
    {
      name: "a takeover needs exactly the owner that was read",
      async run(harness) {
        const { ada, bob, claim } = createKey(harness);
        await claim(ada(1));
        assert.deepEqual(await claim(bob(1), { from: ada(2) }), { outcome: "held", owner: ada(1) });
        assert.deepEqual(await claim(bob(1), { from: bob(1) }), { outcome: "held", owner: ada(1) });
        assert.deepEqual(await claim(bob(1), { from: ada(1) }), { outcome: "claimed", fresh: false });
        assert.deepEqual(await claim(ada(1)), { outcome: "held", owner: bob(1) });
        assert.deepEqual(
          await claim(bob(1), { from: ada(1) }),
          { outcome: "claimed", fresh: false },
          "a repeat after a lost answer",
        );
      },
    },
    {
      name: "an owner that was reopened in between, under a higher fence, keeps its key",
      async run(harness) {
        const { ada, bob, claim } = createKey(harness);
        await claim(ada(1));
        await claim(ada(2));
        assert.deepEqual(await claim(bob(1), { from: ada(1) }), { outcome: "held", owner: ada(2) });
      },
    },
    {
      name: "an owner that comes back after a takeover is told of it",
      async run(harness) {
        const { ada, bob, claim } = createKey(harness);
        await claim(ada(1));
        await claim(bob(1), { from: ada(1) });
        assert.deepEqual(await claim(ada(2)), { outcome: "held", owner: bob(1) });
      },
    },
    {
      name: "a takeover from an owner whose item has expired meanwhile is a claim of a free key",
      async run(harness) {
        const { ada, bob, claim } = createKey(harness);
        assert.deepEqual(await claim(bob(1), { from: ada(1) }), { outcome: "claimed", fresh: true });
      },
    },
    {
      name: "keys of different systems, and keys that look alike, are different keys",
      async run(harness) {
        const { key, ada, bob, claim } = createKey(harness);
        const long = `${key}${"x".repeat(400)}`;
        const claims: Partial<Claim>[] = [
          { system: "wordpress", key },
          { system: "github", key },
          { system: "github#a", key },
          { system: "github", key: `a#${key}` },
          { system: "wordpress", key: `${key}%23` },
          { system: "wordpress", key: `${key}#` },
          { system: "wordpress", key: `${key}\u0000` },
          { system: "wordpress", key: `${long}1` },
          { system: "wordpress", key: `${long}2` },
        ];
        for (const one of claims)
          assert.deepEqual(await claim(ada(1), one), { outcome: "claimed", fresh: true }, JSON.stringify(one));
        for (const one of claims) assert.equal((await claim(bob(1), one)).outcome, "held", JSON.stringify(one));
      },
    },
    {
      name: "a claim that cannot be right is refused by the name of its field",
      async run(harness) {
        const { ada, claim, item } = createKey(harness);
        await expectInvalid(claim(ada(0)), /^owner\.fence: got 0/);
        await expectInvalid(claim(ada(1), { key: "" }), /^key: got empty text/);
        await expectInvalid(claim(ada(1), { system: "" }), /^system: got empty text/);
        await expectInvalid(claim(ada(1), { at: Number.NaN }), /^at: got NaN/);
        assert.equal(await item(), undefined);
      },
    },
    {
      name: "an owner that does not parse is an error that names the field, and keeps the key",
      async run(harness) {
        const { key, ada, claim, item } = createKey(harness);
        await harness.items.put(`key#wordpress#${key}`, { task_id: 7, fence: 1 }, { absent: "task_id" });
        await assert.rejects(claim(ada(1)), { code: "Unknown", message: /task_id and fence/ });
        assert.deepEqual(await item(), { task_id: 7, fence: 1 });
      },
    },
  ],
};
