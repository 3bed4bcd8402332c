/** What a case may need beyond the contract itself. A target that lacks a need skips the case, with the need as the reason. */
export type Need =
  /** A clock that the case moves by hand. */
  | "time"
  /** Calls that can be dropped, delayed, refused, thrown away after they were applied. */
  | "faults"
  /** The server can be stopped and started again. */
  | "restart"
  /** Wrong credentials are refused. */
  | "credentials"
  /** Leases of one second and less. */
  | "shortLease";

/** One behaviour, proven on every target. Throws (node:assert) when it does not hold. */
export interface Case<H> {
  /** A sentence: "takeover only after expiry and skew". Unique in its suite. */
  readonly name: string;
  readonly needs?: readonly Need[];
  /** Declared differences: why this case cannot hold on some target the harness describes; `undefined`: it must hold. */
  readonly unless?: (harness: H) => string | undefined;
  run(harness: H): Promise<void>;
}

/** What every harness says about its target. */
export interface Harness {
  readonly has: ReadonlySet<Need>;
  /** The shortest broker lease that the target keeps exactly, ms. */
  readonly minLeaseMs: number;
  /** How late the target may be, ms. */
  readonly toleranceMs: number;
  /** Lets this much time pass: moves the fake clock, or waits. */
  wait(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** A list of cases about one subject. */
export interface Suite<H extends Harness> {
  readonly subject: string;
  readonly cases: readonly Case<H>[];
}
