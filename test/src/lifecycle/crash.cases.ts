import assert from "node:assert/strict";
import { deriveTaskId } from "@leasehold/core/driver";
import type { Case, Suite } from "../suite/case.ts";
import type { LifecycleHarness, PlayedProcess, World } from "./harness.ts";
import { enqueue, expectFacts, expectQueueEmpty, type Facts, SETTLED, type TestTask, taskOf } from "./support.ts";
import type { EndpointKind } from "./system.ts";

type When = "before" | "after";

/** A place where a process may die, on the way from enqueue to complete. */
interface Step {
  readonly name: string;
  readonly dies: "client" | "worker";
  /** The call of the process, or of the external system. */
  readonly on: string;
}

/** What a crash leaves: the record (`undefined`: none), and how many things were made. */
interface Left {
  readonly record: Partial<Facts> | undefined;
  readonly made: number;
}

const STEPS = {
  payload: { name: "the payload is written", dies: "client", on: "store.create payload#" },
  record: { name: "the record is written", dies: "client", on: "store.create task#" },
  send: { name: "the message is sent", dies: "client", on: "queue.send" },
  receive: { name: "the message is received", dies: "worker", on: "queue.receive" },
  acquire: { name: "the task is acquired", dies: "worker", on: "store.acquire" },
  renew: { name: "a claim is written", dies: "worker", on: "store.renew" },
  begin: { name: "the effect is begun", dies: "worker", on: "store.beginEffect" },
  commit: { name: "the system applies the commit", dies: "worker", on: "system commit" },
  answer: { name: "the answer of the commit is recorded", dies: "worker", on: "store.recordCommitted" },
  find: { name: "the system is read back", dies: "worker", on: "system find" },
  receipt: { name: "the receipt is written", dies: "worker", on: "store.recordReceipt" },
  settle: { name: "the record is settled", dies: "worker", on: "store.settle" },
  complete: { name: "the message is completed", dies: "worker", on: "queue.complete" },
} as const satisfies Record<string, Step>;
type StepName = keyof typeof STEPS;

const NONE: Left = { record: undefined, made: 0 };
const QUEUED: Left = {
  record: { status: "queued", stage: "preflight", attempt: 0, attempts_total: 0, fence: 0, effects: {}, open: 0 },
  made: 0,
};
const leased = (stage: Facts["stage"], effects: Facts["effects"], open: number, made: number): Left => ({
  record: { status: "leased", stage, attempt: 1, attempts_total: 1, fence: 1, effects, open },
  made,
});
const ACQUIRED = leased("preflight", {}, 0, 0);
const CALLING = leased("external_call", {}, 0, 0);
const BEGUN = leased("commit", { publish: "started" }, 1, 0);
const APPLIED = leased("commit", { publish: "started" }, 1, 1);
const ANSWERED = leased("verify", { publish: "committed" }, 1, 1);
const VERIFIED = leased("verify", { publish: "verified" }, 0, 1);
const DONE: Left = { record: { ...SETTLED, attempt: 1, attempts_total: 1, fence: 1 }, made: 1 };

/** Left by a crash before and after each step, with a system that honours keys or has names. */
const GUARDED: readonly (readonly [StepName, Left, Left])[] = [
  ["payload", NONE, NONE],
  ["record", NONE, QUEUED],
  ["send", QUEUED, QUEUED],
  ["receive", QUEUED, QUEUED],
  ["acquire", QUEUED, ACQUIRED],
  ["renew", ACQUIRED, CALLING],
  ["begin", CALLING, BEGUN],
  ["commit", BEGUN, APPLIED],
  ["find", APPLIED, APPLIED],
  ["receipt", APPLIED, VERIFIED],
  ["settle", VERIFIED, DONE],
  ["complete", DONE, DONE],
];
/** The same where nothing guards a second commit: the answer is recorded first. */
const UNGUARDED: readonly (readonly [StepName, Left, Left])[] = [
  ["begin", CALLING, BEGUN],
  ["commit", BEGUN, APPLIED],
  ["answer", APPLIED, ANSWERED],
  ["find", ANSWERED, ANSWERED],
  ["receipt", ANSWERED, VERIFIED],
  ["settle", VERIFIED, DONE],
  ["complete", DONE, DONE],
];

/** How a task ends that was left so. */
function endOf(kind: EndpointKind, left: Left): Partial<Facts> & { readonly status: Facts["status"] } {
  const retried = left.record?.status === "leased";
  const counts = { attempt: retried ? 2 : 1, attempts_total: retried ? 2 : 1, fence: retried ? 2 : 1 };
  const log = retried ? [["expired", left.record?.stage as string] as const] : [];
  const parks = {
    status: "parked",
    code: "effect_unresolved",
    ...counts,
    log: [...log, ["parked", left.record?.stage as string]],
  } as const;
  if (kind === "searchable" && left === BEGUN) return parks;
  if (kind === "unreadable" && (left === BEGUN || left === APPLIED || left === ANSWERED)) return parks;
  // Found before the handler ran again, the effect left no claim of its own in that attempt.
  const stage = retried && left.made > 0 ? "external_call" : "verify";
  return { ...SETTLED, status: "settled", ...counts, log: [...log, ["settled", stage]] };
}

function crashCase(kind: EndpointKind, stepName: StepName, when: When, left: Left): Case<LifecycleHarness> {
  const step: Step = STEPS[stepName];
  return {
    name: `a crash ${when} ${step.name}, ${kind} endpoint`,
    needs: ["faults"],
    // In full where time is free: elsewhere a row for each step.
    unless: (harness) =>
      when === "before" && !harness.has.has("time")
        ? "in real time only the crash after each step is played"
        : undefined,
    async run(harness) {
      const world = await harness.open();
      const publish = world.system.effect(kind);
      const task = taskOf(world, {
        effects: [publish],
        async run(context) {
          await context.renew({ stage: "external_call", reason: "rendered the draft of chapter 3" });
          return context.effect(publish, { html: "x" });
        },
      });
      const taskId = deriveTaskId(world.queue.queue, task.type, "one");
      await dieAt(world, task, step, when);
      const record = await world.store.get(taskId);
      if (left.record === undefined) assert.equal(record, undefined);
      else expectFacts(await world.record(taskId), left.record);
      assert.equal(world.system.made(), left.made);

      if (left.record === undefined) await enqueue(world, world.client(), task);
      world.worker("b", { tasks: [task] });
      const end = endOf(kind, left);
      expectFacts(await world.reaches(taskId, end.status), end);
      assert.equal(world.system.made(), end.status === "settled" ? 1 : left.made);
      await expectQueueEmpty(world);
    },
  };
}

/** Plays the task until its process dies at the step. */
async function dieAt(world: World, task: TestTask, step: Step, when: When): Promise<void> {
  const client = world.client();
  if (step.dies === "client") {
    client.fault(step.on, { crash: when });
    client.client.enqueue(task, { n: 1 }, { key: "one" }).catch(() => undefined);
    await world.until(() => client.dead);
    return;
  }
  await enqueue(world, client, task);
  const worker: PlayedProcess = world.worker("a", {
    tasks: [task],
    faults: step.on.startsWith("system") ? [] : [{ on: step.on, fault: { crash: when } }],
  });
  if (step.on.startsWith("system")) {
    world.system.next(step.on === "system commit" ? "commit" : "find", { [when]: () => worker.crash(), hang: when });
  }
  await world.until(() => worker.dead);
}

const rows = (
  kind: EndpointKind,
  table: readonly (readonly [StepName, Left, Left])[],
): readonly Case<LifecycleHarness>[] =>
  table.flatMap(([step, before, after]) => [
    crashCase(kind, step, "before", before),
    crashCase(kind, step, "after", after),
  ]);

export const crashes: Suite<LifecycleHarness> = {
  subject: "crashes",
  cases: [
    ...rows("idempotent", GUARDED),
    ...rows(
      "deterministic",
      GUARDED.filter(([step]) => ["begin", "commit", "find", "receipt"].includes(step)),
    ),
    ...rows("searchable", UNGUARDED),
    ...rows(
      "unreadable",
      UNGUARDED.filter(([step]) => step !== "find"),
    ),
  ],
};
