import { type Client, createClient, isLeaseholdError } from "@leasehold/core";
import { encodeEnvelope } from "@leasehold/core/driver";
import { INPUT } from "./definitions.ts";
import type { Host } from "./host.ts";
import type { TaskState } from "./model/state.ts";
import type { PlannedTask } from "./plan.ts";
import { QUEUE, type World } from "./world.ts";

/** Those who enqueue, and the people who decide about what is parked or given up. */
export interface People {
  enqueue(task: PlannedTask): void;
  cancel(which: number): void;
  reopen(which: number): void;
  /** Decides about a parked task. `size` chooses the decision; below 0 the person looks first and takes the right one. */
  resume(state: TaskState, size: number): void;
  parked(which: number): TaskState | undefined;
}

export function createPeople(world: World): People {
  const { context, timeline } = world;
  let host: Host = world.host("c0");
  let client: Client = clientOf(world, host);
  let incarnation = 0;

  /** Calls as a person would: from a process that may have died and been started anew, and an error is only an error. */
  function call(what: string, make: (client: Client) => Promise<unknown>): void {
    if (!host.alive) {
      host = world.host(`c${++incarnation}`);
      client = clientOf(world, host);
    }
    context.log(what, host.name);
    world.count(`person ${what.split(" ")[0]}`);
    make(client).then(
      (answer) => context.log(what, "answered", String((answer as { outcome?: unknown } | undefined)?.outcome)),
      (error: unknown) => {
        context.log(what, "failed", String(error));
        // What a person got wrong, and what could not be reached, is no fault of the system; anything else is.
        if (!isLeaseholdError(error) || error.code === "Unknown") context.fail(6, `${what}: ${String(error)}`);
      },
    );
  }

  function choose(which: number, fits: (state: TaskState) => boolean): TaskState | undefined {
    const fitting = [...context.tasks.values()].filter(fits);
    return fitting[Math.floor(which * fitting.length)];
  }

  return {
    enqueue(task) {
      if (task.foreign === true) {
        sendForeign(world, host, task);
        return;
      }
      const at = (ms: number | undefined): Date | undefined =>
        ms === undefined ? undefined : new Date(timeline.now() + ms);
      call(`enqueue ${task.number}`, async (by) => {
        const outcome = await by.enqueue(
          { type: task.type, input: INPUT },
          { n: task.number },
          {
            key: `k${task.number}`,
            notBefore: at(task.delayMs),
            deadline: at(task.deadlineMs),
            orderingKey: task.orderingKey,
          },
        );
        if (!context.tasks.has(outcome.task.task_id))
          context.fail(6, `task ${outcome.task.task_id} was ${outcome.outcome}, and has no record`);
        return outcome;
      });
    },
    cancel(which) {
      const state = choose(which, () => true);
      if (state !== undefined) call(`cancel ${state.id}`, (by) => by.cancel(state.id));
    },
    reopen(which) {
      const state = choose(
        which,
        ({ record }) =>
          record.status === "dead_lettered" || record.status === "cancelled" || record.status === "parked",
      );
      if (state !== undefined) call(`reopen ${state.id}`, (by) => by.reopen(state.id));
    },
    resume(state, size) {
      const open = Object.entries(state.record.effects).find(
        ([, effect]) => effect.state === "started" || effect.state === "committed",
      );
      const [slot, effect] = open ?? [];
      const made = effect === undefined ? undefined : world.external.entries(effect.key)[0];
      const settledDown = effect === undefined || world.external.inFlight(effect.key) === 0;
      const careful = size < 0;
      let decision: "retry" | "commit-again" | "committed" =
        size < 0.4 || slot === undefined ? "retry" : "commit-again";
      if (slot !== undefined && made !== undefined && (careful || size > 0.7)) decision = "committed";
      else if (slot !== undefined && careful && settledDown) decision = "commit-again";
      call(`resume ${state.id} ${decision} ${slot ?? ""}`, (by) =>
        by.resume(state.id, {
          decision,
          by: careful ? "careful" : "hasty",
          effect: decision === "retry" ? undefined : slot,
          externalId: decision === "committed" && made !== undefined ? made.id : undefined,
        }),
      );
    },
    parked: (which) => choose(which, ({ record }) => record.status === "parked"),
  };
}

function clientOf(world: World, host: Host): Client {
  const { queue, store } = world.connect(host);
  return createClient({
    queue,
    store,
    clock: host.clock,
    entropy: host.entropy,
    telemetry: world.telemetry,
    recoverAfter: world.plan.recoverAfterMs,
  });
}

/** An event of a producer that knows nothing of records: only the message, which nobody promised to keep. */
function sendForeign(world: World, host: Host, task: PlannedTask): void {
  const { queue } = world.connect(host);
  const body = encodeEnvelope({
    id: `foreign-${task.number}`,
    source: "somebody:else",
    type: task.type,
    time: new Date(world.timeline.now()).toISOString(),
    data: { n: task.number },
  });
  world.context.log("foreign event", QUEUE, task.number);
  void queue
    .send([{ id: `foreign-${task.number}`, body, contentType: "application/cloudevents+json" }])
    .catch(() => undefined);
}
