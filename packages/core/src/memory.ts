// The in-memory reference, for tests, demos and simulation: a broker, its driver, a clock that is moved by hand, faults.

export { createMemoryBroker, type MemoryBroker, type MemoryBrokerOptions, memoryBroker } from "./memory/broker.ts";
export type { BrokerActs } from "./memory/broker-queue.ts";
export { type DeliveryFault, type DeliveryScript, withDeliveryFaults } from "./memory/delivery-faults.ts";
export { createTimeline, type ProcessClock, type Timeline } from "./memory/fake-clock.ts";
export { type Fault, type FaultScript, type FaultyCall, withFaults } from "./memory/faults.ts";
export type { QueueCounts } from "./memory/inventory.ts";
export { createMemoryItems, createMemoryStore } from "./memory/items.ts";
export { createMemoryQueue, type MemoryQueueOptions } from "./memory/queue.ts";
export type { QueueSettings } from "./memory/settings.ts";
export { noTelemetry } from "./telemetry/no-telemetry.ts";
