import type { ClaimStage, EffectState, Stage } from "./record.ts";

/** The effects of a record, by `<name>` or `<name>:<item>`. */
export type EffectStates = Readonly<Record<string, EffectState>>;

/** Is its outcome still to be read back? */
export function isOpen(effect: EffectState): boolean {
  return effect.state === "started" || effect.state === "committed";
}

/** How many effects are open: what `open_effects` says. */
export function countOpen(effects: EffectStates): number {
  let open = 0;
  for (const slot in effects) if (isOpen(effects[slot] as EffectState)) open += 1;
  return open;
}

/** The names of the open effects, in the order of the record. */
export function openSlots(effects: EffectStates): readonly string[] {
  return Object.keys(effects).filter((slot) => isOpen(effects[slot] as EffectState));
}

/**
 * The stage of a task: the most dangerous of its open effects, else that of the last claim. A begun effect stands in `commit`, where nobody
 * knows whether it happened; an answered one in `verify`.
 */
export function stageOf(effects: EffectStates, claimed: ClaimStage): Stage {
  let stage: Stage | undefined;
  for (const slot in effects) {
    const { state } = effects[slot] as EffectState;
    if (state === "started") return "commit";
    if (state === "committed") stage = "verify";
  }
  return stage ?? claimed;
}
