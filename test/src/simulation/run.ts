import { play } from "./acts.ts";
import type { Fired } from "./faults.ts";
import { checkLiveness } from "./model/liveness.ts";
import type { Violation } from "./model/state.ts";
import { createPeople, type People } from "./people.ts";
import { type Plan, planOf } from "./plan.ts";
import { createFleet, type Fleet } from "./workers.ts";
import { createWorld, type World } from "./world.ts";

export interface RunResult {
  readonly seed: number;
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly fired: readonly Fired[];
  readonly counts: ReadonlyMap<string, number>;
  /** Over everything that was seen to happen: the same for each run of a seed. */
  readonly hash: number;
  readonly lines: readonly string[];
  /** True time that the run covers, ms. */
  readonly coveredMs: number;
}

export interface RunOptions {
  /** Faults that do not happen and tasks that are not enqueued this time, by id. */
  readonly without?: ReadonlySet<string>;
  readonly keepsLog?: boolean;
}

/** How time moves on while the run looks for its end, ms. */
const STEP_MS = 2_000;
/** How often a person resumes one task after the faults have stopped; then it may stay parked. */
const MAX_RESUMES = 2;
/** With an ordering key each lost message costs an hour. */
const LONGEST_MS = 12 * 3_600_000;
const DRAIN_MS = 150_000;

/** One run of the whole system: faults for a while, then a healthy world until everything has ended. */
export async function simulate(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const plan = planOf(seed);
  const world = createWorld(plan, { without: options.without ?? new Set(), keepsLog: options.keepsLog ?? false });
  const { timeline, violations } = world;
  const startMs = timeline.now();
  const onRejection = (reason: unknown): void =>
    world.context.fail(1, `an unhandled rejection: ${reason instanceof Error ? reason.stack : String(reason)}`);
  process.on("unhandledRejection", onRejection);
  try {
    const people = createPeople(world);
    world.onDecision = people.resume;
    for (const task of plan.tasks) {
      if (!options.without?.has(`task/${task.number}`)) world.network.setTimer(task.atMs, () => people.enqueue(task));
    }
    const fleet = createFleet(world);
    for (const act of plan.acts) world.network.setTimer(act.atMs, () => play(world, fleet, people, act));
    while (timeline.now() - startMs < plan.chaosMs && violations.length === 0) await timeline.advance(STEP_MS);
    if (violations.length === 0) await becomeQuiet(world, fleet, people);
    // Rejections are told when the event loop turns.
    await timeline.settle();
  } finally {
    process.off("unhandledRejection", onRejection);
  }
  for (const { record } of world.context.tasks.values()) world.count(`ended ${record.status}`);
  return {
    seed,
    plan,
    violations,
    fired: world.injector.fired,
    counts: world.counts,
    hash: world.hash(),
    lines: world.lines,
    coveredMs: timeline.now() - startMs,
  };
}

/** Faults stop, healthy workers go on, people decide what is parked. */
async function becomeQuiet(world: World, fleet: Fleet, people: People): Promise<void> {
  const { timeline, violations, context, injector } = world;
  injector.stop();
  fleet.heal(world.plan.healthyWorkers);
  const healedAt = timeline.now();
  const resumes = new Map<string, number>();
  let quietSince: number | undefined;
  let freeSince = healedAt;
  while (violations.length === 0) {
    await timeline.advance(STEP_MS);
    const { concurrency, recoverAfterMs } = world.plan;
    const free = fleet.workers.some(
      ({ host, stopping }) => host.alive && !stopping && world.model.handlers.running(host) < concurrency,
    );
    if (!free) freeSince = timeline.now();
    const { open } = checkLiveness(context, { recoverAfterMs, freeSince });
    let resumed = false;
    for (const state of context.tasks.values()) {
      const times = resumes.get(state.id) ?? 0;
      if (state.record.status !== "parked" || times >= MAX_RESUMES) continue;
      resumes.set(state.id, times + 1);
      people.resume(state, -1);
      resumed = true;
    }
    if (timeline.now() - healedAt > LONGEST_MS)
      context.fail(6, `not everything has ended ${LONGEST_MS / 60_000} min after the faults stopped`);
    if (open > 0 || resumed) quietSince = undefined;
    else quietSince ??= timeline.now();
    if (quietSince !== undefined && timeline.now() - quietSince >= (world.plan.drains ? DRAIN_MS : STEP_MS)) break;
  }
  if (violations.length > 0) return;
  await stopAll(world, fleet);
}

/** Every worker stops in order, and leaves nothing behind. */
async function stopAll(world: World, fleet: Fleet): Promise<void> {
  for (const worker of fleet.workers) {
    if (!worker.host.alive) continue;
    let stopped = false;
    void worker.stop().then(() => {
      stopped = true;
    });
    for (let waitedMs = 0; !stopped && waitedMs < 30_000; waitedMs += STEP_MS) await world.timeline.advance(STEP_MS);
    if (!worker.host.alive) continue;
    if (!stopped) world.context.fail(9, `${worker.host.name} does not stop`);
    const leftovers = worker.leftovers();
    if (leftovers !== "") world.context.fail(9, `${worker.host.name} has stopped and still holds ${leftovers}`);
  }
}
