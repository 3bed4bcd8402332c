import type { Call, CallCounters } from "./calls.ts";
import type { EmulatorClock } from "./clock.ts";
import type { FaultRule, Faults } from "./faults.ts";

/** What every emulator is started with. */
export interface EmulatorOptions {
  /** Default 0: a port that is free. */
  readonly port?: number;
  /** What leases and waits on the server go by. Default: the machine's time. */
  readonly clock?: EmulatorClock;
  /** Rules that are there from the first call on; more with `faults.add`. */
  readonly faults?: readonly FaultRule[];
  /** How long each request is under way before it is applied, ms. Default 0. Can be set later: `faults.latencyMs`. */
  readonly latencyMs?: number;
  /**
   * The only caller that is let in, by the name that its credentials have: the access key id of AWS, the bearer token of
   * Google Cloud, the name of a shared access key of Service Bus. Signatures are not verified. Default: everybody is let in.
   */
  readonly accessKeyId?: string;
  /** Called with each call that arrives, before anything else happens to it. */
  readonly onCall?: (call: Call) => void;
}

/** What the emulators over HTTP know beside. */
export interface HttpEmulatorOptions extends EmulatorOptions {
  /** How far the `Date` header of answers is ahead of the machine's time, ms. Default 0. Leases do not go by it. */
  readonly dateSkewMs?: number;
}

/** What every emulator is, once it runs. */
export interface Emulator {
  /**
   * Where clients connect; stays the same over `pause` and `resume`. `http://127.0.0.1:<port>` for AWS, `127.0.0.1:<port>` for
   * Pub/Sub (what `PUBSUB_EMULATOR_HOST` takes), `sb://127.0.0.1:<port>` for Service Bus.
   */
  readonly endpoint: string;
  readonly calls: CallCounters;
  readonly faults: Faults;
  /** Closes the port and cuts every connection. What is stored stays, and time goes on for it. */
  pause(): Promise<void>;
  /** Opens the same port again. */
  resume(): Promise<void>;
  /** Ends the emulator for good. Close the SDK clients first. Harmless when repeated. */
  stop(): Promise<void>;
}
