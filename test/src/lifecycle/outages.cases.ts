import assert from "node:assert/strict";
import { sleep } from "@leasehold/core/driver";
import type { Case, Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedWorker } from "./harness.ts";
import { aborted, counted, enqueue, expectFacts, expectQueueEmpty, SETTLED, taskOf, UNREACHABLE } from "./support.ts";

const FOREVER = Number.POSITIVE_INFINITY;

type Phase =
  | "before it is received"
  | "at acquire"
  | "while the handler runs"
  | "at begin"
  | "after the commit"
  | "at the end";
const PHASES: readonly Phase[] = [
  "before it is received",
  "at acquire",
  "while the handler runs",
  "at begin",
  "after the commit",
  "at the end",
];

interface Outage {
  readonly what: "queue" | "store";
  readonly phase: Phase;
  /** In leases. */
  readonly long: number;
}

/** A lease that cannot be renewed is over; what only the broker knows is of no weight. */
function attemptsOf({ what, phase, long }: Outage): number {
  return what === "store" && long > 1 && phase !== "before it is received" && phase !== "at acquire" ? 2 : 1;
}

function outageCase(outage: Outage): Case<LifecycleHarness> {
  const { what, phase, long } = outage;
  return {
    name: `the ${what === "queue" ? "broker" : "store"} is down ${phase}, for ${long} leases: the effect is made once`,
    needs: ["time", "faults"],
    async run(harness) {
      const world = await harness.open();
      const { leaseMs } = world.timing;
      const reasons: string[] = [];
      let downAt: number | undefined;
      const goDown = (): void => {
        if (downAt !== undefined) return;
        downAt = world.now();
        worker.fault(`${what}.`, { error: UNREACHABLE }, { times: FOREVER });
      };
      const publish = world.system.effect("searchable");
      const task = taskOf(world, {
        effects: [publish],
        async run(context) {
          void aborted(context.signal).then((reason) => reasons.push(reason));
          await context.renew({ stage: "external_call", reason: "rendering chapter 3", budget: "3h" });
          if (phase === "while the handler runs") {
            goDown();
            await sleep(worker.clock, 3 * leaseMs, context.signal);
          }
          if (phase === "at begin") goDown();
          const receipt = await context.effect(publish, {});
          if (phase === "at the end") goDown();
          return receipt;
        },
      });
      if (phase === "after the commit") world.system.next("commit", { after: goDown });
      const early = phase === "before it is received" || phase === "at acquire";
      const on = phase === "at acquire" && what === "store" ? "store.acquire" : `${what}.`;
      const worker: PlayedWorker = world.worker("a", {
        tasks: [task],
        faults: early ? [{ on, fault: { error: UNREACHABLE }, times: FOREVER }] : [],
      });
      if (early) downAt = world.now();
      const taskId = await enqueue(world, world.client(), task);
      await world.until(() => downAt !== undefined);
      await world.wait(long * leaseMs);
      worker.heal();
      const record = await world.reaches(taskId, "settled");
      expectFacts(record, { ...SETTLED, attempt: attemptsOf(outage), attempts_total: attemptsOf(outage) });
      await expectQueueEmpty(world);
      assert.equal(world.system.made(), 1);
      assert.deepEqual(reasons.slice(0, 1), attemptsOf(outage) === 2 ? ["expired"] : []);
    },
  };
}

/** Something is down for a while, in each phase of a task. */
export const outages: Suite<LifecycleHarness> = {
  subject: "outages",
  cases: [
    ...PHASES.map((phase) => outageCase({ what: "store", phase, long: 0.25 })),
    ...PHASES.map((phase) => outageCase({ what: "store", phase, long: 2.5 })),
    ...PHASES.map((phase) => outageCase({ what: "queue", phase, long: 2.5 })),
    {
      name: "the broker is stopped and started while workers poll: they go on",
      needs: ["restart"],
      async run(harness) {
        const world = await harness.open();
        const { task, runs } = counted(world);
        const client = world.client();
        world.worker("a", { tasks: [task] });
        await world.reaches(await enqueue(world, client, task), "settled");
        await world.broker.stop();
        await world.wait(world.timing.leaseMs);
        await world.broker.start();
        await world.reaches(await enqueue(world, client, task, { key: "two" }), "settled");
        assert.equal(runs(), 2);
      },
    },
    {
      name: "a broker that is down costs polls with back-off, no hot loop",
      needs: ["time", "faults"],
      async run(harness) {
        const world = await harness.open();
        const { task } = counted(world);
        const worker = world.worker("a", {
          tasks: [task],
          faults: [{ on: "queue.", fault: { error: UNREACHABLE }, times: FOREVER }],
        });
        await world.wait(3_600_000);
        const polls = worker.calls.filter(({ name }) => name === "queue.receive").length;
        assert.ok(polls >= 100 && polls <= 1_000, `${polls} polls in an hour`);
        assert.ok(worker.log.length <= 10, `${worker.log.length} lines of log`);
      },
    },
  ],
};
