import type { Entropy } from "@leasehold/core/driver";

/** Choices that depend on a seed and a name alone, so that taking one away leaves all others as they were. */
export interface Dice {
  /** In [0, 1). */
  float(): number;
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
}

/** FNV-1a over code units. */
export function hashText(text: string, start = 0x811c9dc5): number {
  let value = start;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}

/** The number in [0, 1) that stands at a place of an endless list named by `hash`. */
export function numberAt(hash: number, index: number): number {
  let value = Math.imul(hash ^ Math.imul(index + 1, 0x9e3779b1), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 15), 0xc2b2ae35);
  value ^= value >>> 13;
  value = Math.imul(value, 0x27d4eb2f);
  return ((value ^ (value >>> 16)) >>> 0) / 0x1_0000_0000;
}

export function createDice(seed: number, name: string): Dice {
  const hash = hashText(name, hashText(String(seed)));
  let index = 0;
  const float = (): number => numberAt(hash, index++);
  return {
    float,
    int: (min, max) => min + Math.floor(float() * (max - min + 1)),
    chance: (probability) => float() < probability,
    pick: (choices) => choices[Math.floor(float() * choices.length)] as (typeof choices)[number],
  };
}

/** The entropy of one process: repeatable, and no token twice in a run. */
export function seededEntropy(seed: number, name: string): Entropy {
  const hash = hashText(`entropy ${name}`, hashText(String(seed)));
  let drawn = 0;
  let tokens = 0;
  return {
    random: () => numberAt(hash, drawn++),
    token: () => `${name}-${(tokens++).toString(36).padStart(8, "0")}`,
  };
}
