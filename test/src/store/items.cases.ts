import assert from "node:assert/strict";
import type { Condition, Item, ItemUpdate } from "@leasehold/core/driver";
import type { Suite } from "../suite/case.ts";
import type { StoreHarness } from "./harness.ts";
import { eventually, expectInvalid } from "./support.ts";

const ABSENT: Condition = { absent: "status" };
const EXISTS: Condition = { exists: "status" };

/** Puts an item under a key of its own. */
async function put(harness: StoreHarness, item: Item = { status: "leased", fence: 3 }): Promise<string> {
  const key = harness.unique("item");
  assert.deepEqual(await harness.items.put(key, item, ABSENT), { applied: true });
  return key;
}

async function holds(harness: StoreHarness, key: string, condition: Condition): Promise<boolean> {
  return (await harness.items.update(key, { set: { touched: true } }, condition)).applied;
}

/** Items of one status shard, an hour apart. */
async function indexed(
  harness: StoreHarness,
  hours: readonly number[],
): Promise<{ readonly partition: string; readonly keys: ReadonlyMap<number, string> }> {
  const partition = harness.unique("partition");
  const keys = new Map<number, string>();
  for (const hour of hours) {
    keys.set(hour, await put(harness, { status: "x", status_shard: partition, created_at: sortAt(hour) }));
  }
  const query = () => harness.items.query({ index: "by_status", partition, limit: 1_000 });
  await eventually(harness, query, ({ entries }) => entries.length === hours.length);
  return { partition, keys };
}

function sortAt(hour: number): string {
  return `2026-01-31T${String(hour).padStart(2, "0")}:00:00.000Z`;
}

export const itemStores: Suite<StoreHarness> = {
  subject: "items",
  cases: [
    {
      name: "put makes an item, or replaces the whole of it, and answers the one before",
      async run(harness) {
        const { items } = harness;
        const key = await put(harness, { status: "leased", fence: 3, gone: "soon" });
        assert.deepEqual(await items.put(key, { status: "queued" }, ABSENT), {
          applied: false,
          old: { status: "leased", fence: 3, gone: "soon" },
        });
        assert.deepEqual(await items.put(key, { status: "queued" }, EXISTS), {
          applied: true,
          old: { status: "leased", fence: 3, gone: "soon" },
        });
        assert.deepEqual(await items.get(key), { status: "queued" });
        assert.equal(await items.get(harness.unique("item")), undefined);
        assert.deepEqual(await items.put(harness.unique("item"), { status: "x" }, EXISTS), { applied: false });
      },
    },
    {
      name: "update sets, removes and adds, and answers the item before",
      async run(harness) {
        const { items } = harness;
        const before: Item = { status: "leased", fence: 3, effects: { "a.b": { state: "started" } }, gone: 1 };
        const key = await put(harness, before);
        const update: ItemUpdate = {
          set: { status: "released", "last.error": "x" },
          remove: ["gone", "never"],
          increment: { fence: 1, attempt: 1 },
        };
        assert.deepEqual(await items.update(key, update, EXISTS), { applied: true, old: before });
        const after = {
          status: "released",
          "last.error": "x",
          fence: 4,
          attempt: 1,
          effects: { "a.b": { state: "started" } },
        };
        assert.deepEqual(await items.get(key), after);
        assert.deepEqual(await items.update(key, { set: { fence: 9 } }, ABSENT), { applied: false, old: after });
        assert.deepEqual(await items.get(key), after);
      },
    },
    {
      name: "update of a missing item makes it under a condition that something is absent, and under no other",
      async run(harness) {
        const { items } = harness;
        const key = harness.unique("item");
        assert.deepEqual(await items.update(key, { set: { a: 1 } }, EXISTS), { applied: false });
        assert.deepEqual(await items.update(key, { set: { a: 1 } }, { field: "a", is: "<>", value: 2 }), {
          applied: false,
        });
        assert.equal(await items.get(key), undefined);
        assert.deepEqual(await items.update(key, { set: { a: 1 }, increment: { n: 2 } }, ABSENT), { applied: true });
        assert.deepEqual(await items.get(key), { a: 1, n: 2 });
      },
    },
    {
      name: "conditions compare fields and paths with values of their own type",
      async run(harness) {
        const key = await put(harness, {
          status: "leased",
          fence: 3,
          flag: false,
          nothing: null,
          effects: { "a.b": { state: "started" } },
        });
        const rows: readonly (readonly [boolean, Condition])[] = [
          [true, { field: "status", is: "=", value: "leased" }],
          [true, { field: "status", is: "<>", value: "queued" }],
          [false, { field: "status", is: "<>", value: "leased" }],
          [true, { field: "status", is: "<", value: "leased2" }],
          [true, { field: "fence", is: "<", value: 10 }],
          [false, { field: "fence", is: "<", value: 3 }],
          [true, { field: "fence", is: "<=", value: 3 }],
          [true, { field: "fence", is: ">", value: 2.5 }],
          [true, { field: "fence", is: ">=", value: 3 }],
          [true, { field: "flag", is: "=", value: false }],
          [true, { exists: "nothing" }],
          [false, { absent: "nothing" }],
          [true, { absent: "other" }],
          [true, { exists: ["effects", "a.b", "state"] }],
          [true, { field: ["effects", "a.b", "state"], is: "=", value: "started" }],
          [true, { absent: ["effects", "a"] }],
          [true, { absent: ["status", "inner"] }],
          [true, { all: [EXISTS, { any: [ABSENT, { field: "fence", is: "=", value: 3 }] }] }],
          [false, { all: [EXISTS, { any: [ABSENT, { field: "fence", is: "=", value: 4 }] }] }],
        ];
        for (const [expected, condition] of rows)
          assert.equal(await holds(harness, key, condition), expected, JSON.stringify(condition));
      },
    },
    {
      name: "a comparison with a missing field or another type is false in every direction",
      async run(harness) {
        const key = await put(harness);
        for (const is of ["=", "<>", "<", "<=", ">", ">="] as const) {
          assert.equal(
            await holds(harness, key, { field: "other", is, value: 1 }),
            false,
            `${is} with a missing field`,
          );
          assert.equal(
            await holds(harness, key, { field: "fence", is, value: "3" }),
            false,
            `${is} between a number and text`,
          );
        }
      },
    },
    {
      name: "text is compared by its bytes in UTF-8",
      unless: ({ cannot }) => cannot?.["text by bytes"],
      async run(harness) {
        const key = await put(harness, { status: "\uffff" });
        assert.equal(await holds(harness, key, { field: "status", is: "<", value: "\u{1f600}" }), true);
      },
    },
    {
      name: "every kind of value comes back as it was",
      async run(harness) {
        const item: Item = {
          status: "",
          number: -1.5e-7,
          large: 253_402_300_799,
          yes: true,
          no: false,
          nothing: null,
          list: [1, "two", [null, { three: 3 }], {}],
          map: { "a.b#c": { deep: [] }, ü: "" },
          text: "ü 漢字 😀 \u0000 \ufffe \u2028",
        };
        const key = await put(harness, item);
        assert.deepEqual(await harness.items.get(key), item);
      },
    },
    {
      name: "of 50 increments at once none is lost",
      async run(harness) {
        const key = await put(harness);
        await Promise.all(
          Array.from({ length: 50 }, () => harness.items.update(key, { increment: { fence: 1 } }, EXISTS)),
        );
        assert.equal((await harness.items.get(key))?.["fence"], 53);
      },
    },
    {
      name: "an index holds the items that have both of its fields, in order",
      async run(harness) {
        const { partition, keys } = await indexed(harness, [3, 1, 2]);
        await put(harness, { status: "x", status_shard: partition });
        const page = await harness.items.query({ index: "by_status", partition, limit: 10 });
        assert.deepEqual(page, { entries: [1, 2, 3].map((hour) => ({ key: keys.get(hour), sort: sortAt(hour) })) });
      },
    },
    {
      name: "an index follows an item that changes, leaves and comes back",
      async run(harness) {
        const { items } = harness;
        const { partition, keys } = await indexed(harness, [1, 2]);
        const key = keys.get(1) as string;
        const query = () => items.query({ index: "by_status", partition, limit: 10 });
        await items.update(key, { set: { created_at: sortAt(5) } }, EXISTS);
        await eventually(
          harness,
          query,
          ({ entries }) => entries.length === 2 && entries[1]?.key === key && entries[1].sort === sortAt(5),
        );
        await items.update(key, { remove: ["status_shard"] }, EXISTS);
        await eventually(harness, query, ({ entries }) => entries.length === 1);
        await items.put(key, { status: "y", status_shard: partition, created_at: sortAt(0) }, EXISTS);
        await eventually(harness, query, ({ entries }) => entries.length === 2 && entries[0]?.key === key);
      },
    },
    {
      name: "a query goes up to a value, in either direction, in pages",
      async run(harness) {
        const { items } = harness;
        const hours = [1, 2, 3, 4, 5, 6, 7];
        const { partition } = await indexed(harness, hours);
        const read = async (
          more: { readonly upTo?: string; readonly descending?: boolean },
          limit: number,
        ): Promise<string[]> => {
          const found: string[] = [];
          let cursor: string | undefined;
          do {
            const page = await items.query({
              index: "by_status",
              partition,
              limit,
              ...more,
              ...(cursor === undefined ? {} : { cursor }),
            });
            assert.ok(page.entries.length <= limit);
            found.push(...page.entries.map(({ sort }) => sort));
            cursor = page.cursor;
          } while (cursor !== undefined);
          return found;
        };
        for (const limit of [1, 3, 7, 20]) {
          assert.deepEqual(await read({}, limit), hours.map(sortAt), `${limit} a page`);
          assert.deepEqual(
            await read({ descending: true }, limit),
            hours.toReversed().map(sortAt),
            `${limit} a page, descending`,
          );
          assert.deepEqual(await read({ upTo: sortAt(3) }, limit), [1, 2, 3].map(sortAt), `${limit} a page, up to 3`);
          assert.deepEqual(
            await read({ upTo: sortAt(3), descending: true }, limit),
            [3, 2, 1].map(sortAt),
            `${limit} a page, down from 3`,
          );
        }
        assert.deepEqual(await read({ upTo: "2026" }, 10), []);
      },
    },
    {
      name: "what cannot be stored, and a cursor that is none, are refused",
      async run(harness) {
        const { items } = harness;
        const key = harness.unique("item");
        const bad: readonly unknown[] = [
          Number.NaN,
          Number.POSITIVE_INFINITY,
          undefined,
          [undefined],
          { deep: { nan: Number.NaN } },
          new Map(),
          1n,
        ];
        for (const value of bad)
          await expectInvalid(items.put(key, { status: value } as unknown as Item, ABSENT), /status/);
        assert.equal(await items.get(key), undefined);
        await put(harness);
        await expectInvalid(items.query({ index: "by_status", partition: "p", limit: 1, cursor: "junk" }), /cursor/);
      },
    },
    {
      name: "nobody changes what is stored by changing what was given or answered",
      async run(harness) {
        const { items } = harness;
        const given = { status: "leased", effects: { publish: { state: "started" } } };
        const key = await put(harness, given);
        given.effects.publish.state = "forged";
        const set = { list: [{ deep: 1 }] };
        await items.update(key, { set }, EXISTS);
        (set.list[0] as { deep: number }).deep = 2;
        const read = (await items.get(key)) as { effects: { publish: { state: string } } };
        try {
          read.effects.publish.state = "forged";
        } catch (error) {
          assert.ok(error instanceof TypeError, "a frozen item says so");
        }
        assert.deepEqual(await items.get(key), {
          status: "leased",
          effects: { publish: { state: "started" } },
          list: [{ deep: 1 }],
        });
      },
    },
  ],
};
