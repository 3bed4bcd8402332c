import type { EffectState, TaskStore } from "@leasehold/core";
import { formatTime } from "@leasehold/core/driver";
import { COMMIT_LEASE_MS, ENDPOINTS, LEASE_MS } from "./definitions.ts";
import type { Host } from "./host.ts";
import { type Act, MAX_CLOCK_SKEW_MS } from "./plan.ts";
import { EFFECTS_OF, type TaskType } from "./programs.ts";
import { QUEUE, type World } from "./world.ts";

type HolderWrite = Parameters<TaskStore["renew"]>[0];
/** A write of this number, with these effects besides what the record had. */
type Writer = (seq: number, changed?: Readonly<Record<string, EffectState>>) => HolderWrite;

/**
 * A holder that uses the store as no worker does: settles with an effect open, begins an effect without guard twice, writes
 * out of order. The store is where ownership is decided, so the store has to refuse it. Then it leaves the lease to lapse.
 */
export async function holdCarelessly(world: World, act: Act): Promise<void> {
  const waiting = [...world.context.tasks.values()].filter(
    ({ record }) => record.status === "queued" || record.status === "released",
  );
  const state = waiting[Math.floor(act.which * waiting.length)];
  if (state === undefined) return;
  const host = world.host(`x${act.id.slice("act/".length)}`);
  const { store } = world.connect(host);
  const { clock, entropy } = host;
  const token = entropy.token();
  try {
    const answer = await store.acquire({
      taskId: state.id,
      owner: host.name,
      token,
      at: clock.now(),
      leaseMs: LEASE_MS,
      maxClockSkewMs: MAX_CLOCK_SKEW_MS,
    });
    if (answer.outcome !== "acquired") return;
    const { record } = answer;
    const write: Writer = (seq, changed = {}) => {
      const effects = { ...record.effects, ...changed };
      const openEffects = Object.values(effects).filter(isOpen).length;
      return {
        taskId: state.id,
        token,
        seq,
        at: clock.now(),
        leaseMs: COMMIT_LEASE_MS,
        state: { effects, open_effects: openEffects },
      };
    };
    await store.renew(write(2));
    const late = await store.renew(write(1));
    if (late.outcome === "written")
      world.context.fail(1, `task ${state.id}: ${host.name} landed write 1 after write 2`);
    const verified = Object.entries(record.effects).find(([, effect]) => effect.receipt !== undefined);
    if (verified !== undefined) return await replaceReceipt(store, write, ...verified);
    if (act.size < 0.3) return await releaseTwice(world, host, store, write(3));
    const slot = EFFECTS_OF[record.task_type as TaskType]?.find(
      (name) => name !== "shared" && record.effects[name] === undefined,
    );
    if (slot === undefined) return;
    const intent = intentOf(state.id, slot, record.fence, clock.now());
    const begun = { [slot]: intent };
    const first = await store.beginEffect({ ...write(3, begun), effect: slot });
    if (first.outcome !== "written") return;
    // A second begin of an effect that nothing guards, and an end that leaves it open.
    await store.beginEffect({ ...write(4, { [slot]: { ...intent, begins: 2 } }), effect: slot });
    const settled = await store.settle({
      ...write(5, begun),
      fence: record.fence,
      retentionMs: 86_400_000,
      receipt: receiptOf(state.id, clock.now()),
    });
    if (settled.outcome === "written")
      world.context.fail(9, `task ${state.id}: ${host.name} has settled it with effect ${slot} open`);
  } catch (error) {
    world.context.log("careless", host.name, String(error));
  }
}

/** Says that something else was read back than what the receipt names. */
async function replaceReceipt(store: TaskStore, write: Writer, slot: string, effect: EffectState): Promise<void> {
  const receipt = { ...(effect.receipt as NonNullable<EffectState["receipt"]>), external_id: "another" };
  await store.recordReceipt({ ...write(3, { [slot]: { ...effect, receipt } }), effect: slot });
}

/** Gives the task back, and goes on as if it had not. */
async function releaseTwice(world: World, host: Host, store: TaskStore, write: HolderWrite): Promise<void> {
  const { taskId, at, seq } = write;
  const released = await store.release({
    ...write,
    queue: QUEUE,
    notBefore: at,
    recoverAfterMs: world.plan.recoverAfterMs,
  });
  const after = await store.renew({ ...write, seq: seq + 1 });
  if (released.outcome === "written" && after.outcome === "written") {
    world.context.fail(1, `task ${taskId}: ${host.name} has renewed a lease that it had given back`);
  }
}

function isOpen(effect: EffectState): boolean {
  return effect.state === "started" || effect.state === "committed";
}

function intentOf(taskId: string, slot: string, fence: number, at: number): EffectState {
  const { guard } = ENDPOINTS[slot] as (typeof ENDPOINTS)[string];
  const time = formatTime(at);
  return {
    key: `${taskId}:${slot}`,
    guard: typeof guard === "object" ? guard.kind : guard,
    state: "started",
    begun_at: time,
    first_begun_at: time,
    fence,
    begins: 1,
    external_system: `system-${slot}`,
  };
}

function receiptOf(taskId: string, at: number) {
  return {
    task_id: taskId,
    stage: "settled" as const,
    external_system: "none",
    external_id: "nothing",
    status: "recorded",
    idempotency_key: taskId,
    verified_at: formatTime(at),
  };
}
