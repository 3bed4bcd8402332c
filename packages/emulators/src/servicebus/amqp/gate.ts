import type { Call, CallBook } from "../../calls.ts";
import type { EmulatorClock } from "../../clock.ts";
import type { Fault, FaultError, FaultPlan } from "../../faults.ts";
import { ServicebusError } from "../errors.ts";

/** As much of a connection as faults work on. */
export interface Line {
  isOpen(): boolean;
  /** Breaks the connection, without a word. */
  cut(): void;
  /** Calls back once when it is gone; answers how to forget about it. */
  onGone(listener: () => void): () => void;
}

/** What a call does, in its two halves: a fault can come between them. */
export interface Steps {
  /** Applies the call, and answers what sends the answer; sooner or later, once. May throw a `ServicebusError` before. */
  apply(answer: (send: () => void) => void): void;
  /** The answer is this error; nothing was applied. */
  refuse(error: ServicebusError): void;
  /** Set: the call stays open when it is answered, until `ended` is called. */
  open?(ended: () => void): void;
}

/** Where every call of the server passes: it is counted, and what faults ask for happens to it. */
export interface Gate {
  pass(line: Line, call: Call, steps: Steps): void;
}

export interface GateOptions {
  readonly clock: EmulatorClock;
  readonly calls: CallBook;
  readonly faults: FaultPlan;
  readonly onCall: ((call: Call) => void) | undefined;
}

export function createGate({ clock, calls, faults, onCall }: GateOptions): Gate {
  /** At once when there is nothing to wait for, so that calls of one link stay in order. */
  function after(delayMs: number, act: () => void): void {
    if (delayMs > 0) clock.setTimer(delayMs, act);
    else act();
  }

  function apply(steps: Steps, fault: Fault | undefined, answer: (send: () => void) => void): void {
    const { error } = fault ?? {};
    try {
      if (error !== undefined) throw errorOf(error);
      steps.apply(answer);
    } catch (thrown) {
      answer(() => steps.refuse(asError(thrown)));
    }
  }

  /** An answer that cannot be written is a bug of the server, and said as one; or it has no way to go any more. */
  function write(line: Line, steps: Steps, send: () => void): void {
    try {
      send();
    } catch (thrown) {
      try {
        steps.refuse(asError(thrown));
      } catch {
        line.cut();
      }
    }
  }

  return {
    pass(line, call, steps) {
      onCall?.(call);
      const finish = calls.begin(call);
      const forget = line.onGone(finish);
      const ended = (): void => {
        forget();
        finish();
      };
      const fault = faults.next(call);
      after(faults.latencyMs + (fault?.delayMs ?? 0), () => {
        if (fault?.drop === "before") return line.cut();
        if (fault?.hang === "before") return;
        apply(steps, fault, (send) => {
          after(fault?.answerDelayMs ?? 0, () => {
            if (fault?.drop === "after") return line.cut();
            if (fault?.hang === "after") return;
            if (line.isOpen()) write(line, steps, send);
            if (steps.open === undefined) ended();
            else steps.open(ended);
          });
        });
      });
    },
  };
}

function errorOf({ code, message, status }: FaultError): ServicebusError {
  return new ServicebusError(code, message ?? `${code}: a fault that was asked for`, status);
}

function asError(thrown: unknown): ServicebusError {
  return thrown instanceof ServicebusError ? thrown : new ServicebusError("amqp:internal-error", String(thrown));
}
