import { z } from "zod";
import { decodeEnvelope } from "../envelope/codec.ts";
import type { TaskEvent } from "../envelope/envelope.ts";
import { createMemoryBroker } from "../memory/broker.ts";
import { createTimeline } from "../memory/fake-clock.ts";
import { type FaultScript, withFaults } from "../memory/faults.ts";
import { createMemoryItems } from "../memory/items.ts";
import { createMemoryQueue } from "../memory/queue.ts";
import type { QueueSettings } from "../memory/settings.ts";
import type { Delivery } from "../queue/driver.ts";
import type { TaskRecord } from "../record/record.ts";
import { createTaskStore } from "../store/create-task-store.ts";
import { noTelemetry } from "../telemetry/no-telemetry.ts";
import { type Client, type ClientOptions, createClient } from "./client.ts";

export const PUBLISH = { type: "publish_post", input: z.object({ title: z.string() }) };
export const LEASE_MS = 60_000;

interface SetupOptions {
  readonly settings?: Partial<QueueSettings>;
  /** What happens to the client's calls to the queue and to the store. */
  readonly queueFaults?: FaultScript;
  readonly storeFaults?: FaultScript;
  readonly client?: Partial<ClientOptions>;
}

/** A client on a queue and a store in memory, in time that stands still until it is moved; and a worker's hands. */
export function setup(options: SetupOptions = {}) {
  const timeline = createTimeline();
  const clock = timeline.clock();
  const broker = createMemoryBroker({ clock });
  broker.createQueue("orders", options.settings);
  const queue = createMemoryQueue({ name: "orders", broker });
  const store = createTaskStore({ items: createMemoryItems() });
  let tokens = 0;
  const entropy = { random: () => 0.5, token: () => `token-${++tokens}` };
  const none: FaultScript = () => undefined;
  const client: Client = createClient({
    queue: withFaults(queue, clock, options.queueFaults ?? none),
    store: withFaults(store, clock, options.storeFaults ?? none),
    clock,
    entropy,
    telemetry: noTelemetry,
    ...options.client,
  });

  /** Takes what the queue has now. */
  async function receive(): Promise<readonly Delivery[]> {
    return timeline.until(queue.receive({ max: 10, waitMs: 0, leaseMs: LEASE_MS }));
  }

  function acquire(taskId: string) {
    return store.acquire({
      taskId,
      owner: "worker",
      token: `lease-${++tokens}`,
      at: clock.now(),
      leaseMs: LEASE_MS,
      maxClockSkewMs: 2_000,
    });
  }

  /** Acquires a task as a worker would, and answers its writes. */
  async function hold(taskId: string) {
    const acquired = await acquire(taskId);
    if (acquired.outcome !== "acquired") throw new Error(`the task was ${acquired.outcome}`);
    const token = acquired.record.lease_token as string;
    let seq = 0;
    const write = () => ({ taskId, token, seq: ++seq, at: clock.now() });
    return { record: acquired.record, write };
  }

  return { timeline, clock, broker, queue, store, client, receive, acquire, hold };
}

export function eventOf(delivery: Delivery | undefined): TaskEvent {
  const outcome = decodeEnvelope(delivery?.body ?? "", delivery?.contentType);
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.event;
}

/** A receipt as a worker writes it at settle. */
export function receiptOf(record: TaskRecord) {
  return {
    task_id: record.task_id,
    stage: "settled" as const,
    external_system: "none",
    external_id: "hash",
    status: "recorded",
    idempotency_key: record.idempotency_key,
    verified_at: record.created_at,
  };
}
