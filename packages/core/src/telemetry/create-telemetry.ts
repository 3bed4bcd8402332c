import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { KEY } from "./attributes.ts";
import { createInstrumentSource } from "./instruments.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { createSeries, type Series } from "./series.ts";
import { createSpans } from "./spans.ts";
import type { TaskLabel, Telemetry } from "./telemetry.ts";
import { originOf } from "./trace-context.ts";

export interface TelemetryOptions {
  /** Default: the API's global one, looked up at each use, so that an SDK registered later still counts. */
  readonly meterProvider?: MeterProvider;
  /** Default: the API's global one, looked up likewise. */
  readonly tracerProvider?: TracerProvider;
  /** Default: nothing is printed. */
  readonly logger?: Logger;
}

/** What is kept for one task type of one queue. */
interface TaskState {
  readonly series: Series;
  inFlight: number;
  orphaned: number;
  vagueLogged: boolean;
}

/** Measures and spans over the OpenTelemetry API. Without an SDK each call is a comparison or two. */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  const logger = options.logger ?? silentLogger;
  const root = createSeries();
  const states = new Map<Series, TaskState>();
  const spans = createSpans(options.tracerProvider);
  const instruments = createInstrumentSource(options.meterProvider, (registered) => {
    // Handlers that already run when an SDK is registered will be counted down by it, so they are counted up first.
    for (const { series, inFlight, orphaned } of states.values()) {
      if (inFlight !== 0) registered.inFlight.add(inFlight, series.attributes);
      if (orphaned !== 0) registered.orphaned.add(orphaned, series.attributes);
    }
  });

  const seriesOf = (task: TaskLabel): Series => root.with(KEY.queue, task.queue).with(KEY.taskType, task.type);

  const stateOf = (task: TaskLabel): TaskState => {
    const series = seriesOf(task);
    let state = states.get(series);
    if (state === undefined) {
      state = { series, inFlight: 0, orphaned: 0, vagueLogged: false };
      states.set(series, state);
    }
    return state;
  };

  const recordMs = (
    key: "acquisitionLatency" | "settlementLatency" | "remainingAtSettle",
    task: TaskLabel,
    ms: number,
  ) => {
    const set = instruments();
    // The clock of another machine may be ahead of ours: a histogram takes nothing below 0.
    if (set !== undefined && Number.isFinite(ms)) set[key].record(Math.max(ms, 0) / 1000, seriesOf(task).attributes);
  };

  const telemetry: Telemetry = {
    acquired: (task, latencyMs) => recordMs("acquisitionLatency", task, latencyMs),
    settledAfterCommit: (task, latencyMs) => recordMs("settlementLatency", task, latencyMs),
    remainingAtSettle: (task, remainingMs) => recordMs("remainingAtSettle", task, remainingMs),
    renewals(task, count) {
      instruments()?.renewals.record(count, seriesOf(task).attributes);
    },
    eventLoopDelay(delayMs) {
      instruments()?.eventLoopDelay.record(Math.max(delayMs, 0) / 1000);
    },

    leaseExpired(task, stage) {
      instruments()?.leasesExpired.add(1, seriesOf(task).with(KEY.stage, stage).attributes);
    },
    leaseLost(task, reason) {
      instruments()?.leasesLost.add(1, seriesOf(task).with(KEY.abortReason, reason).attributes);
    },
    duplicate(task, kind) {
      instruments()?.duplicates.add(1, seriesOf(task).with(KEY.duplicateKind, kind).attributes);
    },
    retried(task, errorClass) {
      instruments()?.retries.add(1, seriesOf(task).with(KEY.errorType, errorClass).attributes);
    },
    deadLettered(task, code) {
      instruments()?.deadLetters.add(1, seriesOf(task).with(KEY.deadLetterCode, code).attributes);
    },
    traceLink(task, kind) {
      instruments()?.brokenTraceLinks.add(1, seriesOf(task).with(KEY.traceLink, kind).attributes);
    },
    effect(task, effect, outcome) {
      instruments()?.effects.add(
        1,
        seriesOf(task).with(KEY.effectName, effect).with(KEY.effectOutcome, outcome).attributes,
      );
    },
    ring(queue, cause) {
      instruments()?.rings.add(1, root.with(KEY.queue, queue).with(KEY.ringCause, cause).attributes);
    },
    callFailed(call, code) {
      instruments()?.callFailures.add(1, root.with(KEY.callName, call).with(KEY.errorType, code).attributes);
    },
    vagueClaim(task, stage, reason) {
      instruments()?.vagueClaims.add(1, seriesOf(task).with(KEY.stage, stage).attributes);
      const state = stateOf(task);
      if (state.vagueLogged) return;
      state.vagueLogged = true;
      logger.warn("A claim with a vague reason buys no time: say what was done and what is waited for.", {
        taskType: task.type,
        queue: task.queue,
        stage,
        reason,
      });
    },

    // The instruments are looked up before the count changes: a provider that is first seen here is told the old one.
    inFlight(task, change) {
      const set = instruments();
      const state = stateOf(task);
      state.inFlight += change;
      set?.inFlight.add(change, state.series.attributes);
    },
    orphaned(task, change) {
      const set = instruments();
      const state = stateOf(task);
      state.orphaned += change;
      set?.orphaned.add(change, state.series.attributes);
    },

    send: spans.send,
    received: spans.received,
    process(attempt) {
      const origin = originOf(attempt.event, attempt.recordTraceparent, attempt.at);
      if (origin.link !== "ok") telemetry.traceLink(attempt, origin.link);
      return spans.process(attempt, origin);
    },
  };
  return telemetry;
}
