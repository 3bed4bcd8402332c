import type { EffectState } from "../record/record.ts";
import { refuse } from "./arguments.ts";
import { renewal, writeAsHolder } from "./holder-write.ts";
import type { Condition, ItemStore } from "./items.ts";
import type { HolderOutcome, HolderWrite, Refused } from "./task-store.ts";

export type EffectWrite = HolderWrite & { readonly leaseMs: number; readonly effect: string };

/**
 * The intent of an effect. A permission to commit again (`allow_commit`) belongs to one effect and is used up by its begin; as
 * the write cannot know whether there is one, it asks for none at first, and only a refusal that shows one makes the second write.
 */
export async function beginEffect(items: ItemStore, write: EffectWrite): Promise<HolderOutcome | Refused> {
  const { effect } = write;
  const { guard } = stateOf(write, "started");
  const set = { ...renewal(write), stage: "commit" };
  const plain = await writeAsHolder(items, write, {
    set,
    extra: {
      all: [
        guard === "none" ? notBegun(effect) : notUnguarded(effect),
        { any: [{ absent: "allow_commit" }, notFor(effect)] },
      ],
    },
  });
  if (
    plain.outcome !== "refused" ||
    plain.record.allow_commit === undefined ||
    plain.record.resolution?.effect !== effect
  )
    return plain;
  return writeAsHolder(items, write, {
    set,
    remove: ["allow_commit"],
    extra: {
      all: [
        notVerified(effect),
        { exists: "allow_commit" },
        { field: ["resolution", "effect"], is: "=", value: effect },
      ],
    },
  });
}

/** What became of an effect, with a full new lease. Refused when it has its receipt: that never changes. */
export async function recordEffect(
  items: ItemStore,
  write: EffectWrite,
  state: "committed" | "failed" | "verified",
): Promise<HolderOutcome | Refused> {
  const { receipt } = stateOf(write, state);
  if (state === "verified" && receipt === undefined) {
    throw refuse(`state.effects.${write.effect}.receipt`, "nothing", "the receipt of a verified effect");
  }
  return writeAsHolder(items, write, { set: renewal(write), extra: notVerified(write.effect) });
}

/** The effect in the state that the holder writes, which must say what the verb says. */
function stateOf(write: EffectWrite, expected: EffectState["state"]): EffectState {
  const { effects = {} } = write.state ?? {};
  const effect = Object.hasOwn(effects, write.effect) ? effects[write.effect] : undefined;
  if (effect?.state !== expected) {
    throw refuse(
      `state.effects.${write.effect}.state`,
      effect === undefined ? "no such effect" : effect.state,
      expected,
    );
  }
  return effect;
}

/** A receipt is never replaced by an intent. */
function notVerified(effect: string): Condition {
  return {
    any: [{ absent: ["effects", effect] }, { field: ["effects", effect, "state"], is: "<>", value: "verified" }],
  };
}

/** What was begun without a guard is not covered by one that a deploy has given it since. */
function notUnguarded(effect: string): Condition {
  const guarded: Condition = { field: ["effects", effect, "guard"], is: "<>", value: "none" };
  return { any: [notBegun(effect), { all: [notVerified(effect), guarded] }] };
}

function notBegun(effect: string): Condition {
  return { any: [{ absent: ["effects", effect] }, { field: ["effects", effect, "state"], is: "=", value: "failed" }] };
}

function notFor(effect: string): Condition {
  return { any: [{ absent: ["resolution", "effect"] }, { field: ["resolution", "effect"], is: "<>", value: effect }] };
}
