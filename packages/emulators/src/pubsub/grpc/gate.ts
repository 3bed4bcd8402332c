import type { Metadata, ServerErrorResponse } from "@grpc/grpc-js";
import type { Call, CallBook } from "../../calls.ts";
import { type EmulatorClock, wait } from "../../clock.ts";
import type { Fault, FaultPlan } from "../../faults.ts";
import type { EmulatorOptions } from "../../shape.ts";
import { PubsubError } from "../errors.ts";
import { errorResponse, faultResponse } from "./status.ts";

/** What the gate has to know of a call, whatever its kind. */
export interface GatedCall {
  readonly metadata: Metadata;
  getPeer(): string;
}

export interface GateOptions extends Pick<EmulatorOptions, "accessKeyId" | "onCall"> {
  readonly clock: EmulatorClock;
  readonly calls: CallBook;
  readonly faults: FaultPlan;
  /** Breaks the connection of a peer off. */
  readonly cut: (peer: string) => void;
}

/** How a call goes on. */
export type Passage =
  | { readonly passes: true; readonly fault: Fault | undefined }
  /** It is answered with this, and not applied. */
  | { readonly passes: false; readonly error: ServerErrorResponse }
  /** No answer comes: the connection is broken, or hangs. */
  | { readonly passes: false; readonly error?: undefined };

/** What stands before every call: counters, latency, faults, who is let in. */
export interface Gate {
  /** Notes the arrival; `ended` notes its end, once. */
  arrive(call: Call): () => void;
  enter(call: Call, gated: GatedCall): Promise<Passage>;
  /** May the answer go out? It is under way as long as the fault says; false: it never arrives. */
  leave(gated: GatedCall, fault: Fault | undefined): Promise<boolean>;
}

export function createGate({ accessKeyId, onCall, clock, calls, faults, cut }: GateOptions): Gate {
  return {
    arrive(call) {
      onCall?.(call);
      return calls.begin(call);
    },
    async enter(call, gated) {
      const fault = faults.next(call);
      const delayMs = faults.latencyMs + (fault?.delayMs ?? 0);
      if (delayMs > 0) await wait(clock, delayMs);
      if (fault?.drop === "before") cut(gated.getPeer());
      if (fault?.drop === "before" || fault?.hang === "before") return { passes: false };
      if (fault?.error !== undefined)
        return { passes: false, error: faultResponse(fault.error.code, fault.error.message) };
      if (accessKeyId !== undefined && gated.metadata.get("authorization")[0] !== `Bearer ${accessKeyId}`) {
        const refused = "Request had invalid authentication credentials.";
        return { passes: false, error: errorResponse(new PubsubError("UNAUTHENTICATED", refused)) };
      }
      return { passes: true, fault };
    },
    async leave(gated, fault) {
      if (fault?.answerDelayMs !== undefined) await wait(clock, fault.answerDelayMs);
      if (fault?.drop === "after") cut(gated.getPeer());
      return fault?.drop !== "after" && fault?.hang !== "after";
    },
  };
}
