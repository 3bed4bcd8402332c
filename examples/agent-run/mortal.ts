import type { Clock } from "@leasehold/core";
import { systemClock } from "@leasehold/core/driver";

/**
 * Something that can die as a process does when it is killed: from one moment on none of its timers fires, and (see
 * injection.ts) none of its calls reaches queue or store. What it had sent before is not taken back.
 */
export interface Mortal {
  readonly name: string;
  readonly clock: Clock;
  readonly dead: boolean;
  die(): void;
}

export function createMortal(name: string, onDeath: () => void): Mortal {
  const pending = new Set<() => void>();
  let dead = false;
  return {
    name,
    get dead() {
      return dead;
    },
    die() {
      if (dead) return;
      dead = true;
      for (const cancel of pending) cancel();
      pending.clear();
      onDeath();
    },
    clock: {
      now: () => systemClock.now(),
      monotonic: () => systemClock.monotonic(),
      setTimer(delayMs, callback) {
        if (dead) return { cancel() {} };
        const timer = systemClock.setTimer(delayMs, () => {
          pending.delete(cancel);
          callback();
        });
        const cancel = (): void => {
          pending.delete(cancel);
          timer.cancel();
        };
        pending.add(cancel);
        return { cancel };
      },
    },
  };
}
