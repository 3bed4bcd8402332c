import type { Dice } from "./random.ts";

/** The task types of the simulation; see definitions.ts. */
export const TASK_TYPES = ["post", "pay", "text", "once", "share", "plain", "window", "strict"] as const;
export type TaskType = (typeof TASK_TYPES)[number];

/** Effects that each type declares; `note` is an inline one that every type may use. */
export const EFFECTS_OF: Readonly<Record<TaskType, readonly string[]>> = {
  post: ["publish", "index"],
  pay: ["charge", "publish"],
  text: ["sms", "index"],
  once: ["publish"],
  share: ["shared", "publish"],
  plain: [],
  window: ["brief"],
  strict: ["publish"],
};

/** What a handler does, step by step. `until`: only in attempts up to this one. */
export type Step =
  | { readonly do: "wait"; readonly ms: number; readonly heeds: boolean }
  | {
      readonly do: "claim";
      readonly stage: "preflight" | "external_call";
      readonly budgetMs: number;
      readonly unguarded: boolean;
    }
  | { readonly do: "vague" }
  | { readonly do: "repeat"; readonly times: number; readonly everyMs: number }
  | { readonly do: "progress"; readonly times: number; readonly everyMs: number; readonly budgetMs: number }
  | { readonly do: "effect"; readonly name: string; readonly item?: string; readonly catches: boolean }
  | { readonly do: "both"; readonly names: readonly [string, string] }
  | { readonly do: "hang"; readonly heeds: boolean; readonly until: number }
  | { readonly do: "throw"; readonly verdict: "retryable" | "permanent" | "park" | "unknown"; readonly until: number };

export interface Program {
  readonly steps: readonly Step[];
  /** Bytes of the result; above 1 KB it is an item of its own. */
  readonly resultBytes: number;
}

export function programOf(dice: Dice, type: TaskType): Program {
  const names = EFFECTS_OF[type];
  const steps: Step[] = [];
  for (const name of names) {
    if (dice.chance(0.5)) steps.push(workStep(dice));
    const item = dice.chance(0.2) && name !== "shared" ? dice.pick(["a", "b"]) : undefined;
    if (dice.chance(0.92))
      steps.push({ do: "effect", name, ...(item === undefined ? {} : { item }), catches: dice.chance(0.2) });
  }
  const [first, second] = names;
  if (first !== undefined && second !== undefined && dice.chance(0.25)) {
    steps.splice(0, steps.length, workStep(dice), { do: "both", names: [first, second] });
  }
  if (names.length === 0 || dice.chance(0.2)) steps.push({ do: "effect", name: "note", catches: false });
  if (dice.chance(0.5)) steps.push(workStep(dice));
  if (dice.chance(0.25)) steps.splice(dice.int(0, steps.length), 0, trouble(dice));
  return { steps, resultBytes: dice.pick([0, 8, 8, 1_500]) };
}

function workStep(dice: Dice): Step {
  switch (dice.int(0, 6)) {
    case 0:
      return { do: "wait", ms: dice.pick([10, 500, 2_000, 6_000]), heeds: dice.chance(0.7) };
    case 1:
    case 2:
      return {
        do: "claim",
        stage: dice.pick(["external_call", "external_call", "preflight"]),
        budgetMs: dice.pick([500, 2_000, 8_000]),
        unguarded: dice.chance(0.2),
      };
    case 3:
      return { do: "vague" };
    case 4:
      return { do: "repeat", times: dice.int(2, 6), everyMs: dice.pick([300, 1_500]) };
    default:
      return {
        do: "progress",
        times: dice.int(2, 8),
        everyMs: dice.pick([200, 1_200]),
        budgetMs: dice.pick([1_500, 3_000]),
      };
  }
}

function trouble(dice: Dice): Step {
  const until = dice.pick([1, 1, 2, 99]);
  if (dice.chance(0.35)) return { do: "hang", heeds: dice.chance(0.6), until };
  return { do: "throw", verdict: dice.pick(["retryable", "permanent", "park", "unknown"]), until };
}
