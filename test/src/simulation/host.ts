import type { Entropy } from "@leasehold/core/driver";
import type { ProcessClock, Timeline } from "@leasehold/core/memory";
import { seededEntropy } from "./random.ts";

/** One process of the simulation: what the world can do to it. */
export interface Host {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly entropy: Entropy;
  /** How far away everything is, ms each way, at most. */
  readonly distanceMs: number;
  readonly alive: boolean;
  /** True time up to which nobody can expect it to have noticed anything: it stood still, or its machine slept. */
  readonly excusedUntil: number;
  /** How long its machine has slept in all, ms: its monotonic time does not know of it. */
  readonly sleptMs: number;
  /** Gone for good: nothing that it waits for ever comes. What it has sent is under way all the same. */
  kill(): void;
  /** Stands still, then goes on as if nothing had been. */
  pause(ms: number): void;
  /** The machine sleeps: wall time goes on, monotonic time does not. */
  suspend(ms: number): void;
  /** Sets its wall time to be this far ahead of the true time. */
  setWallOffset(ms: number): void;
}

/** How long after a sleep of the machine a worker may take to notice it, ms: its regular look, at most. */
const NOTICE_SLEEP_MS = 400;

export interface HostOptions {
  readonly name: string;
  readonly seed: number;
  readonly timeline: Timeline;
  /** A clock of the world, that is never paused. */
  readonly network: ProcessClock;
  readonly wallOffsetMs: number;
  readonly distanceMs: number;
}

export function createHost({ name, seed, timeline, network, wallOffsetMs, distanceMs }: HostOptions): Host {
  const clock = timeline.clock({ wallOffsetMs });
  let alive = true;
  let excusedUntil = Number.NEGATIVE_INFINITY;
  let paused = false;
  let sleptMs = 0;
  return {
    name,
    clock,
    entropy: seededEntropy(seed, name),
    distanceMs,
    get alive() {
      return alive;
    },
    get excusedUntil() {
      return paused ? Number.POSITIVE_INFINITY : excusedUntil;
    },
    get sleptMs() {
      return sleptMs;
    },
    kill() {
      alive = false;
      clock.kill();
    },
    pause(ms) {
      if (!alive || paused) return;
      paused = true;
      clock.pause();
      network.setTimer(ms, () => {
        paused = false;
        excusedUntil = Math.max(excusedUntil, timeline.now());
        clock.resume();
      });
    },
    suspend(ms) {
      if (!alive) return;
      clock.suspendMonotonic(ms);
      sleptMs += ms;
      excusedUntil = Math.max(excusedUntil, timeline.now()) + ms + NOTICE_SLEEP_MS;
    },
    setWallOffset(ms) {
      clock.jumpWall(ms - (clock.now() - timeline.now()));
    },
  };
}
