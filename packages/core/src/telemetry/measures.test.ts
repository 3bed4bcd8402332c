import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { formatTime } from "../clock.ts";
import { createTelemetry } from "./create-telemetry.ts";
import { INSTRUMENTS, type InstrumentKey } from "./instruments.ts";
import type { LogFields, Logger } from "./logger.ts";
import type { AttemptEvent, Telemetry } from "./telemetry.ts";

const task = { type: "publish_post", queue: "posts" };
const ofTask = { "leasehold.task.type": "publish_post", "messaging.destination.name": "posts" };

interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram: count and sum. */
  readonly value: number | { readonly count: number; readonly sum: number };
}

/** An SDK with its in-memory exporter; `read` answers every measure that has moved so far. */
function createRecorder() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
  after(() => provider.shutdown());
  return {
    provider,
    async read(): Promise<ReadonlyMap<string, readonly Point[]>> {
      exporter.reset();
      await provider.forceFlush();
      const moved = new Map<string, readonly Point[]>();
      for (const { descriptor, dataPoints, dataPointType } of exporter
        .getMetrics()
        .flatMap((resource) => resource.scopeMetrics)
        .flatMap((scope) => scope.metrics)) {
        const points = dataPoints.map(({ attributes, value }): Point => {
          if (dataPointType === DataPointType.SUM) return { attributes, value: value as number };
          const { count, sum } = value as { count: number; sum: number };
          return { attributes, value: { count, sum } };
        });
        moved.set(descriptor.name, points);
      }
      return moved;
    },
  };
}

const attempt: AttemptEvent = {
  ...task,
  provider: "memory",
  taskId: "t1",
  at: Date.UTC(2026, 0, 31),
  event: undefined,
  recordTraceparent: undefined,
  attempt: 1,
  fence: 1,
  agentRunId: undefined,
};

interface Case {
  readonly act: (telemetry: Telemetry) => void;
  readonly points: readonly Point[];
}

const cases: Readonly<Record<InstrumentKey, Case>> = {
  acquisitionLatency: {
    act: (telemetry) => {
      telemetry.acquired(task, 1_500);
      // Another machine's clock is ahead; an event without a time.
      telemetry.acquired(task, -40);
      telemetry.acquired(task, Number.NaN);
    },
    points: [{ attributes: ofTask, value: { count: 2, sum: 1.5 } }],
  },
  renewals: {
    act: (telemetry) => {
      telemetry.renewals(task, 0);
      telemetry.renewals(task, 3);
    },
    points: [{ attributes: ofTask, value: { count: 2, sum: 3 } }],
  },
  leasesExpired: {
    act: (telemetry) => {
      telemetry.leaseExpired(task, "commit");
      telemetry.leaseExpired(task, "commit");
      telemetry.leaseExpired(task, "preflight");
    },
    points: [
      { attributes: { ...ofTask, "leasehold.stage": "commit" }, value: 2 },
      { attributes: { ...ofTask, "leasehold.stage": "preflight" }, value: 1 },
    ],
  },
  duplicates: {
    act: (telemetry) => telemetry.duplicate(task, "settled"),
    points: [{ attributes: { ...ofTask, "leasehold.duplicate.kind": "settled" }, value: 1 }],
  },
  retries: {
    act: (telemetry) => telemetry.retried(task, "RetryableError"),
    points: [{ attributes: { ...ofTask, "error.type": "RetryableError" }, value: 1 }],
  },
  settlementLatency: {
    act: (telemetry) => telemetry.settledAfterCommit(task, 250),
    points: [{ attributes: ofTask, value: { count: 1, sum: 0.25 } }],
  },
  deadLetters: {
    act: (telemetry) => telemetry.deadLettered(task, "attempts_exhausted"),
    points: [{ attributes: { ...ofTask, "leasehold.dead_letter.code": "attempts_exhausted" }, value: 1 }],
  },
  brokenTraceLinks: {
    act: (telemetry) => {
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
      const weekAgo = formatTime(attempt.at - 7 * 86_400_000 - 1);
      telemetry.process(attempt);
      telemetry.process({ ...attempt, event: { traceparent } });
      telemetry.process({ ...attempt, event: { traceparent, time: weekAgo } });
      telemetry.traceLink(task, "stale");
    },
    points: [
      { attributes: { ...ofTask, "leasehold.trace_link": "missing" }, value: 1 },
      { attributes: { ...ofTask, "leasehold.trace_link": "stale" }, value: 2 },
    ],
  },
  leasesLost: {
    act: (telemetry) => telemetry.leaseLost(task, "no_progress"),
    points: [{ attributes: { ...ofTask, "leasehold.abort.reason": "no_progress" }, value: 1 }],
  },
  remainingAtSettle: {
    act: (telemetry) => telemetry.remainingAtSettle(task, 45_000),
    points: [{ attributes: ofTask, value: { count: 1, sum: 45 } }],
  },
  inFlight: {
    act: (telemetry) => {
      telemetry.inFlight(task, 1);
      telemetry.inFlight(task, 1);
      telemetry.inFlight(task, -1);
    },
    points: [{ attributes: ofTask, value: 1 }],
  },
  orphaned: {
    act: (telemetry) => telemetry.orphaned(task, 1),
    points: [{ attributes: ofTask, value: 1 }],
  },
  eventLoopDelay: {
    act: (telemetry) => telemetry.eventLoopDelay(500),
    points: [{ attributes: {}, value: { count: 1, sum: 0.5 } }],
  },
  effects: {
    act: (telemetry) => telemetry.effect(task, "publish", "verified"),
    points: [
      {
        attributes: { ...ofTask, "leasehold.effect.name": "publish", "leasehold.effect.outcome": "verified" },
        value: 1,
      },
    ],
  },
  rings: {
    act: (telemetry) => telemetry.ring("posts", "lapsed"),
    points: [{ attributes: { "messaging.destination.name": "posts", "leasehold.ring.cause": "lapsed" }, value: 1 }],
  },
  vagueClaims: {
    act: (telemetry) => telemetry.vagueClaim(task, "external_call", "processing"),
    points: [{ attributes: { ...ofTask, "leasehold.stage": "external_call" }, value: 1 }],
  },
  callFailures: {
    act: (telemetry) => telemetry.callFailed("extend", "Unavailable"),
    points: [{ attributes: { "leasehold.call.name": "extend", "error.type": "Unavailable" }, value: 1 }],
  },
};

describe("measures", () => {
  for (const [key, { act, points }] of Object.entries(cases)) {
    const { name, attributes } = INSTRUMENTS[key as InstrumentKey];
    it(`${name} moves, and no other`, async () => {
      const recorder = createRecorder();
      const telemetry = createTelemetry({ meterProvider: recorder.provider });
      act(telemetry);
      assert.deepEqual([...(await recorder.read())], [[name, points]]);
      for (const point of points) assert.deepEqual(Object.keys(point.attributes).sort(), [...attributes].sort());
    });
  }

  it("count what happens after an SDK was registered, and what was in flight before", async () => {
    const telemetry = createTelemetry();
    telemetry.inFlight(task, 1);
    telemetry.inFlight(task, 1);
    telemetry.orphaned(task, 1);
    telemetry.retried(task, "RetryableError");
    const recorder = createRecorder();
    metrics.setGlobalMeterProvider(recorder.provider);
    after(() => metrics.disable());
    telemetry.inFlight(task, -1);
    telemetry.retried(task, "TypeError");
    assert.deepEqual(Object.fromEntries(await recorder.read()), {
      "leasehold.task.in_flight": [{ attributes: ofTask, value: 1 }],
      "leasehold.task.orphaned": [{ attributes: ofTask, value: 1 }],
      "leasehold.task.retries": [{ attributes: { ...ofTask, "error.type": "TypeError" }, value: 1 }],
    });
  });

  it("have units and names by the conventions", () => {
    const names = Object.values(INSTRUMENTS).map((instrument) => instrument.name);
    assert.equal(new Set(names).size, names.length);
    for (const { name, unit } of Object.values(INSTRUMENTS)) {
      assert.match(name, /^leasehold(\.[a-z_]+){2}$/);
      assert.match(unit, /^(s|\{[a-z]+\})$/);
    }
  });
});

describe("vague claims", () => {
  it("are logged once per type", () => {
    const lines: LogFields[] = [];
    const other = (): never => assert.fail("only a warning was due");
    const logger: Logger = { info: other, error: other, warn: (_message, fields = {}) => void lines.push(fields) };
    const telemetry = createTelemetry({ logger });
    telemetry.vagueClaim(task, "external_call", "processing");
    telemetry.vagueClaim(task, "verify", "heartbeat");
    telemetry.vagueClaim({ ...task, type: "open_issue" }, "preflight");
    assert.deepEqual(lines, [
      { taskType: "publish_post", queue: "posts", stage: "external_call", reason: "processing" },
      { taskType: "open_issue", queue: "posts", stage: "preflight", reason: undefined },
    ]);
  });
});
