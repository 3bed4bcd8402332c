import { randomBytes } from "node:crypto";

/** Randomness, in one place so that a simulation can repeat a run from its seed. */
export interface Entropy {
  /** A number in [0, 1), for jitter and for the choice of a shard. */
  random(): number;
  /** A fresh opaque token of 128 bits: lease tokens, write ids. */
  token(): string;
}

/** The randomness of the machine. */
export const systemEntropy: Entropy = {
  random: Math.random,
  token: () => randomBytes(16).toString("base64url"),
};
