import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseholdError } from "../errors.ts";
import type { QueueDriver } from "../queue/driver.ts";
import { withDeliveryFaults } from "./delivery-faults.ts";
import { createTimeline, type Timeline } from "./fake-clock.ts";
import { type Fault, type FaultScript, withFaults } from "./faults.ts";
import { createMemoryQueue } from "./queue.ts";

/** Something with asynchronous methods that counts its calls; what it is does not matter to the faults. */
function counter(): {
  add(by: number): Promise<number>;
  readonly nested: { reset(): Promise<void> };
  readonly name: string;
} {
  let sum = 0;
  return {
    name: "counter",
    async add(by) {
      if (by < 0) throw new RangeError("negative");
      sum += by;
      return sum;
    },
    nested: {
      async reset() {
        sum = 0;
      },
    },
  };
}

function faulty(script: FaultScript): ReturnType<typeof counter> & { readonly timeline: Timeline } {
  const timeline = createTimeline();
  return { ...withFaults(counter(), timeline.clock(), script), timeline };
}

/** Only the first call of `add` is hit. */
const first =
  (fault: Fault): FaultScript =>
  (call) =>
    call.name === "add" && call.index === 0 ? fault : undefined;

test("a script sees the name, the number and the arguments of each call, nested ones too", async () => {
  const seen: string[] = [];
  const { add, nested, name } = faulty((call) => {
    seen.push(`${call.name} ${call.index} ${JSON.stringify(call.args)}`);
    return undefined;
  });
  assert.equal(await add(2), 2);
  await nested.reset();
  assert.equal(await add(3), 3);
  assert.equal(name, "counter");
  assert.deepEqual(seen, ["add 0 [2]", "nested.reset 0 []", "add 1 [3]"]);
});

test("dropped before: not applied; dropped after: applied; both are Unavailable", async () => {
  const before = faulty(first({ drop: "before" }));
  await assert.rejects(before.add(1), { code: "Unavailable" });
  assert.equal(await before.add(10), 10);
  const after = faulty(first({ drop: "after" }));
  await assert.rejects(after.add(1), { code: "Unavailable" });
  assert.equal(await after.add(10), 11);
});

test("an error is thrown as it is, and nothing is applied", async () => {
  const error = new LeaseholdError("ResourceExhausted", "slow down");
  const { add } = faulty(first({ error }));
  await assert.rejects(add(1), error);
  assert.equal(await add(10), 10);
});

test("applied twice: the answer asked for is given", async () => {
  assert.equal(await faulty(first({ twice: "first" })).add(1), 1);
  assert.equal(await faulty(first({ twice: "second" })).add(1), 2);
  await assert.rejects(faulty(first({ twice: "second" })).add(-1), RangeError);
});

test("a delayed call is applied late, a delayed answer comes late", async () => {
  const late = faulty(first({ delayMs: 100 }));
  const slow = late.add(1);
  assert.equal(await late.add(10), 10, "the second call overtook the first");
  assert.equal(await late.timeline.until(slow), 11);
  const quiet = faulty(first({ answerDelayMs: 100 }));
  const answer = quiet.add(1);
  assert.equal(await quiet.add(10), 11, "the first call was applied at once");
  assert.equal(await quiet.timeline.until(answer), 1);
});

test("a call that hangs never ends, applied or not", async () => {
  for (const [hang, sum] of [
    ["before", 10],
    ["after", 11],
  ] as const) {
    const { add, timeline } = faulty(first({ hang }));
    await assert.rejects(timeline.until(add(1)), { code: "Hung" });
    assert.equal(await add(10), sum);
  }
});

test("on the clock of a killed process an answer that is under way never arrives", async () => {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const { add } = withFaults(counter(), clock, () => ({ answerDelayMs: 10 }));
  const answer = add(1);
  await timeline.settle();
  clock.kill();
  await assert.rejects(timeline.until(answer), { code: "Hung" });
});

const LEASE_MS = 1_000;

async function queueWith(
  ids: readonly string[],
): Promise<{ readonly timeline: Timeline; readonly driver: QueueDriver }> {
  const timeline = createTimeline();
  const driver = createMemoryQueue({ name: "q", clock: timeline.clock() });
  await driver.send(ids.map((id) => ({ id, body: id, contentType: "text/plain" })));
  return { timeline, driver };
}

async function bodies(driver: QueueDriver, max = 10): Promise<string[]> {
  return (await driver.receive({ max, waitMs: 0, leaseMs: LEASE_MS })).map((delivery) => delivery.body);
}

test("a lost message is never seen", async () => {
  const { timeline, driver } = await queueWith(["a", "b"]);
  const lossy = withDeliveryFaults(driver, timeline.clock(), ({ index }) => (index === 0 ? { lose: true } : undefined));
  assert.deepEqual(await bodies(lossy), ["b"]);
  await timeline.advance(LEASE_MS);
  assert.deepEqual(await bodies(lossy), ["b"]);
});

test("a held delivery comes late, out of order, under its old token", async () => {
  const { timeline, driver } = await queueWith(["a", "b"]);
  const held = withDeliveryFaults(driver, timeline.clock(), ({ index }) => (index === 0 ? { holdMs: 300 } : undefined));
  assert.deepEqual(await bodies(held, 1), []);
  assert.deepEqual(await bodies(held, 1), ["b"]);
  await timeline.advance(300);
  const [late] = await held.receive({ max: 1, waitMs: 0, leaseMs: LEASE_MS });
  assert.equal(late?.body, "a");
  assert.equal(
    (await held.settle([{ verb: "complete", delivery: late as NonNullable<typeof late> }]))[0]?.status,
    "confirmed",
  );
});

test("a doubled delivery comes once more under the same token, and never beyond what was asked for", async () => {
  const { timeline, driver } = await queueWith(["a", "b"]);
  const doubled = withDeliveryFaults(driver, timeline.clock(), ({ index }) =>
    index === 0 ? { againMs: 0 } : undefined,
  );
  const once = await doubled.receive({ max: 1, waitMs: 0, leaseMs: LEASE_MS });
  const twice = await doubled.receive({ max: 1, waitMs: 0, leaseMs: LEASE_MS });
  assert.deepEqual(twice, once);
  assert.deepEqual(await bodies(doubled), ["b"]);
});
