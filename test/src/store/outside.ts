import assert from "node:assert/strict";
import type { EffectState } from "@leasehold/core";
import type { TaskRecord, TaskStore } from "@leasehold/core/driver";
import type { StoreHarness } from "./harness.ts";
import {
  at,
  createScene,
  DAY_MS,
  effectsState,
  LEASE_MS,
  leased,
  RECOVER_MS,
  RETENTION_MS,
  type Scene,
  SECOND_MS,
  START_MS,
  timeAt,
  written,
} from "./support.ts";
import { holderVerb } from "./verbs.ts";

/** A day after the start of the case. */
export const LATER = DAY_MS;

/** The frame of a write from outside, a day after the start of the case. */
export function request(harness: StoreHarness, scene: Scene, token = harness.unique("outside")) {
  return { taskId: scene.taskId, at: at(LATER), recoverAfterMs: RECOVER_MS, retentionMs: RETENTION_MS, token };
}

/** A cancel of the task by somebody. */
export function cancel(harness: StoreHarness, scene: Scene, token?: string): ReturnType<TaskStore["cancel"]> {
  return harness.store.cancel({ ...request(harness, scene, token), reason: "no longer needed" });
}

/** A task that was leased once and stands in this status, with these effects. */
export async function taskIn(
  harness: StoreHarness,
  status: "queued" | "leased" | "released" | "parked" | "dead_lettered" | "cancelled" | "settled",
  effects: Readonly<Record<string, EffectState>> = {},
): Promise<Scene> {
  if (status === "queued") {
    const scene = createScene(harness);
    await scene.create();
    return scene;
  }
  const { scene, lease } = await leased(harness);
  const last_claims = [
    { stage: "external_call" as const, reason: "sent 3 of 9", at: timeAt(SECOND_MS), guard: "none" as const },
  ];
  const state = {
    stage: "external_call" as const,
    last_claims,
    claim_count: 1,
    unread_releases: 2,
    ...effectsState(effects),
  };
  written(await harness.store.renew({ ...lease.next({ state }), leaseMs: LEASE_MS }));
  const verbs = {
    leased: "renew",
    released: "release",
    parked: "park",
    dead_lettered: "deadLetter",
    cancelled: "endCancelled",
    settled: "settle",
  };
  if (status !== "leased") {
    const answer = await holderVerb(verbs[status]).call(harness, lease.next(), { queue: scene.queue, fence: 1 });
    assert.equal(answer.outcome, "written");
  }
  return scene;
}

/** Insists that the call is refused and changes nothing. */
export async function expectRefused(
  scene: Scene,
  call: () => Promise<{ readonly outcome: string; readonly record?: TaskRecord }>,
): Promise<void> {
  const before = await scene.record();
  assert.deepEqual(await call(), { outcome: "refused", record: before });
  assert.deepEqual(await scene.record(), before);
}

/** When a payload expires whose task is put back, or cancelled while it is parked, at {@link LATER}. */
export const payloadExpiry = (START_MS + LATER + 2 * RETENTION_MS) / SECOND_MS;
