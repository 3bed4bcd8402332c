import {
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
  type UpDownCounter,
} from "@opentelemetry/api";
import { type AttributeName, KEY } from "./attributes.ts";

/** The instrumentation scope of every measure and span of leasehold. */
export const SCOPE = "@leasehold/core";

export interface InstrumentDefinition {
  /** Never renamed once released: dashboards and alerts name it. */
  readonly name: string;
  readonly kind: "counter" | "up-down counter" | "histogram";
  /** UCUM, as the conventions ask: durations in seconds, counts in braces. */
  readonly unit: string;
  readonly description: string;
  readonly attributes: readonly AttributeName[];
  /** Bounds of the buckets of a histogram, in its unit. */
  readonly boundaries?: readonly number[];
}

const TASK = [KEY.taskType, KEY.queue] as const;

/** From a fast local queue to a task that waited for days. */
const WAITS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400];
/** Around the usual lengths of a lease. */
const LEASES_S = [0, 1, 2, 5, 10, 20, 30, 45, 60, 120, 300, 600];
const DELAYS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const RENEWALS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** Every measure; docs/telemetry.md is made from it. */
export const INSTRUMENTS = {
  acquisitionLatency: {
    name: "leasehold.lease.acquisition_latency",
    kind: "histogram",
    unit: "s",
    description: "From the later of the event's time and `not_before` to the acquisition.",
    attributes: TASK,
    boundaries: WAITS_S,
  },
  renewals: {
    name: "leasehold.lease.renewals",
    kind: "histogram",
    unit: "{renewal}",
    description: "Renewals of one lease, recorded when its attempt ends.",
    attributes: TASK,
    boundaries: RENEWALS,
  },
  leasesExpired: {
    name: "leasehold.lease.expired",
    kind: "counter",
    unit: "{lease}",
    description: "Leases that ran out before their task ended, once each. In stage `commit` one should page somebody.",
    attributes: [...TASK, KEY.stage],
  },
  duplicates: {
    name: "leasehold.delivery.duplicates",
    kind: "counter",
    unit: "{delivery}",
    description: "Deliveries of a task that needed none.",
    attributes: [...TASK, KEY.duplicateKind],
  },
  retries: {
    name: "leasehold.task.retries",
    kind: "counter",
    unit: "{retry}",
    description: "Tasks given back for another attempt.",
    attributes: [...TASK, KEY.errorType],
  },
  settlementLatency: {
    name: "leasehold.task.settlement_latency",
    kind: "histogram",
    unit: "s",
    description: "From the answer of the last external commit to the settled record.",
    attributes: TASK,
    boundaries: WAITS_S,
  },
  deadLetters: {
    name: "leasehold.task.dead_letters",
    kind: "counter",
    unit: "{task}",
    description: "Tasks given up.",
    attributes: [...TASK, KEY.deadLetterCode],
  },
  brokenTraceLinks: {
    name: "leasehold.task.broken_trace_links",
    kind: "counter",
    unit: "{attempt}",
    description: "Attempts that nobody's trace leads to, or a stale one.",
    attributes: [...TASK, KEY.traceLink],
  },
  leasesLost: {
    name: "leasehold.lease.lost",
    kind: "counter",
    unit: "{lease}",
    description: "Handlers told to stop.",
    attributes: [...TASK, KEY.abortReason],
  },
  remainingAtSettle: {
    name: "leasehold.lease.remaining_at_settle",
    kind: "histogram",
    unit: "s",
    description:
      "What was left of the lease when the settle was confirmed. Near 0: the lease is too short for the work.",
    attributes: TASK,
    boundaries: LEASES_S,
  },
  inFlight: {
    name: "leasehold.task.in_flight",
    kind: "up-down counter",
    unit: "{task}",
    description: "Handlers that run.",
    attributes: TASK,
  },
  orphaned: {
    name: "leasehold.task.orphaned",
    kind: "up-down counter",
    unit: "{task}",
    description: "Handlers that still run although their lease is gone.",
    attributes: TASK,
  },
  eventLoopDelay: {
    name: "leasehold.event_loop.delay",
    kind: "histogram",
    unit: "s",
    description: "How late the worker's timer was. Near the length of a lease, leases are lost to blocking code.",
    attributes: [],
    boundaries: DELAYS_S,
  },
  effects: {
    name: "leasehold.effect.outcomes",
    kind: "counter",
    unit: "{outcome}",
    description: "What became of effects, step by step.",
    attributes: [...TASK, KEY.effectName, KEY.effectOutcome],
  },
  rings: {
    name: "leasehold.task.rings",
    kind: "counter",
    unit: "{message}",
    description: "Messages sent for tasks that already existed.",
    attributes: [KEY.queue, KEY.ringCause],
  },
  vagueClaims: {
    name: "leasehold.claim.vague",
    kind: "counter",
    unit: "{claim}",
    description: "Claims with a reason that says nothing. They buy no time.",
    attributes: [...TASK, KEY.stage],
  },
  callFailures: {
    name: "leasehold.call.failures",
    kind: "counter",
    unit: "{call}",
    description: "Calls of broker or store that failed, whether or not they were made again.",
    attributes: [KEY.callName, KEY.errorType],
  },
} as const satisfies Readonly<Record<string, InstrumentDefinition>>;

export type InstrumentKey = keyof typeof INSTRUMENTS;

interface ByKind {
  readonly counter: Counter;
  readonly "up-down counter": UpDownCounter;
  readonly histogram: Histogram;
}

export type InstrumentSet = { readonly [K in InstrumentKey]: ByKind[(typeof INSTRUMENTS)[K]["kind"]] };

function createInstrument(meter: Meter, definition: InstrumentDefinition): Counter | UpDownCounter | Histogram {
  const { name, unit, description, boundaries } = definition;
  switch (definition.kind) {
    case "counter":
      return meter.createCounter(name, { unit, description });
    case "up-down counter":
      return meter.createUpDownCounter(name, { unit, description });
    case "histogram":
      return meter.createHistogram(name, {
        unit,
        description,
        ...(boundaries && { advice: { explicitBucketBoundaries: [...boundaries] } }),
      });
  }
}

function createInstruments(meter: Meter): InstrumentSet {
  const made = Object.entries(INSTRUMENTS).map(([key, definition]) => [key, createInstrument(meter, definition)]);
  return Object.fromEntries(made) as InstrumentSet;
}

/**
 * Finds the instruments at each use, since an application may register its SDK after it made its worker. `undefined` while
 * nobody listens.
 *
 * @param provider Default: the global one of the moment.
 * @param registered Called with the instruments of a provider when it is first seen.
 */
export function createInstrumentSource(
  provider: MeterProvider | undefined,
  registered: (instruments: InstrumentSet) => void,
): () => InstrumentSet | undefined {
  let seen: MeterProvider | undefined;
  let instruments: InstrumentSet | undefined;
  return () => {
    const current = provider ?? metrics.getMeterProvider();
    if (current === seen) return instruments;
    seen = current;
    const meter = current.getMeter(SCOPE);
    instruments = meter === createNoopMeter() ? undefined : createInstruments(meter);
    if (instruments !== undefined) registered(instruments);
    return instruments;
  };
}
