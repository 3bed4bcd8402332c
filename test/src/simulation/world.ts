import { createTaskStore, type ItemStore, type QueueDriver } from "@leasehold/core/driver";

import {
  createMemoryBroker,
  createMemoryItems,
  createMemoryQueue,
  createTimeline,
  type MemoryBroker,
  noTelemetry,
  type ProcessClock,
  type Timeline,
  withDeliveryFaults,
} from "@leasehold/core/memory";
import { createExternal, type External } from "./external.ts";
import { createInjector, DELIVERY_FAULTS, type FaultKind, type Injector } from "./faults.ts";
import { createHost, type Host } from "./host.ts";
import { watchedQueue } from "./model/deliveries.ts";
import { createModel, type Model } from "./model/model.ts";
import type { Invariant, ModelContext, TaskState, Violation } from "./model/state.ts";
import { MAX_CLOCK_SKEW_MS, type Plan } from "./plan.ts";
import { createDice, hashText } from "./random.ts";
import { recorded } from "./recorder.ts";
import { createWire } from "./wire.ts";

export const QUEUE = "work";

/** Everything that the processes of one run share, and what watches them. */
export interface World {
  /** A person looks at a task that was parked; set by whoever plays the people. */
  onDecision: ((state: TaskState, size: number) => void) | undefined;
  readonly plan: Plan;
  readonly timeline: Timeline;
  readonly network: ProcessClock;
  readonly broker: MemoryBroker;
  readonly injector: Injector;
  readonly external: External;
  readonly context: ModelContext;
  readonly model: Model;
  readonly violations: readonly Violation[];
  readonly telemetry: typeof noTelemetry;
  /** What happened, beside faults, by name. */
  readonly counts: Map<string, number>;
  /** A new process. */
  host(name: string): Host;
  /** What a process gets of the store and the queue. */
  connect(host: Host): { readonly queue: QueueDriver; readonly store: ReturnType<typeof createTaskStore> };
  count(what: string): void;
  /** A hash over all that was logged. */
  hash(): number;
  readonly lines: readonly string[];
}

export interface WorldOptions {
  readonly without: ReadonlySet<string>;
  /** Keep the event log, and not only its hash. */
  readonly keepsLog: boolean;
}

export function createWorld(plan: Plan, { without, keepsLog }: WorldOptions): World {
  const timeline = createTimeline();
  const startMs = timeline.now();
  const network = timeline.clock();
  const now = (): number => timeline.now() - startMs;
  const violations: Violation[] = [];
  const lines: string[] = [];
  const counts = new Map<string, number>();
  const hosts = new Map<string, Host>();
  let hash = 0x811c9dc5;
  const required = (invariant: Invariant): boolean =>
    plan.skewInBounds || invariant === 1 || invariant === 2 || invariant === 3 || invariant === 5;

  const context: ModelContext = {
    now: timeline.now,
    tasks: new Map<string, TaskState>(),
    inBounds: plan.skewInBounds,
    skewMs: MAX_CLOCK_SKEW_MS,
    hosts,
    lastReceivedAt: startMs,
    fail(invariant, text) {
      if (!required(invariant)) return;
      violations.push({ invariant, text, atMs: now() });
      context.log("VIOLATION", invariant, text);
    },
    log(...parts) {
      const line = `${now()} ${parts.join(" ")}`;
      hash = hashText(line, hash);
      if (keepsLog) lines.push(line);
    },
  };
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const injector = createInjector({ seed: plan.seed, rates: plan.rates, without, now });
  const parked = injector.place("parked", ["person_resumes"]);
  const model = createModel(context, {
    concurrency: plan.concurrency,
    onParked(state) {
      const { kind, size } = parked.next();
      if (kind !== undefined) network.setTimer(Math.round(size * 3_000), () => world.onDecision?.(state, size));
    },
  });
  const external = createExternal({ network, injector, now: timeline.now, observer: model.effects.observer });
  const broker = createMemoryBroker({ clock: network });
  broker.createQueue(QUEUE, plan.queue);
  const items: ItemStore = createMemoryItems();
  const wire = createWire({ network, injector });

  function deliveryFaults(host: Host, driver: QueueDriver): QueueDriver {
    const place = injector.place(`${host.name}.delivery`, DELIVERY_FAULTS as readonly FaultKind[]);
    return withDeliveryFaults(driver, host.clock, () => {
      const { kind, size } = place.next();
      if (kind === "delivery_late") return { holdMs: Math.round(size * 5_000) };
      return kind === "delivery_again" ? { againMs: Math.round(size * 8_000) } : undefined;
    });
  }

  const world: World = {
    onDecision: undefined,
    plan,
    timeline,
    network,
    broker,
    injector,
    external,
    context,
    model,
    violations,
    telemetry: {
      ...noTelemetry,
      ring: (_queue, cause) => count(`ring ${cause}`),
      leaseLost: (_label, reason) => count(`lease lost ${reason}`),
      leaseExpired: () => count("lease expired"),
      duplicate: (_label, kind) => count(`duplicate ${kind}`),
      retried: (_label, errorClass) => count(`retry ${errorClass}`),
    },
    counts,
    host(name) {
      const dice = createDice(plan.seed, `offset ${name}`);
      const host = createHost({
        name,
        seed: plan.seed,
        timeline,
        network,
        wallOffsetMs: Math.round((dice.float() - 0.5) * plan.skewMs),
        distanceMs: name.startsWith("c") ? plan.peopleDistanceMs : 8,
      });
      hosts.set(name, host);
      return host;
    },
    connect(host) {
      const driver = createMemoryQueue({ name: QUEUE, broker });
      const store = createTaskStore({ items: wire.items(host, recorded(items, host.name, model.onWrite)) });
      return { store, queue: watchedQueue(context, host, deliveryFaults(host, wire.queue(host, driver))) };
    },
    count,
    hash: () => hash,
    lines,
  };
  return world;
}
