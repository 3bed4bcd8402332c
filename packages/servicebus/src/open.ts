import { invalid, type QueueDriver } from "@leasehold/core/driver";
import { createServicebusQueue, type ServicebusQueueOptions } from "./queue.ts";

export interface OpenServicebusQueueOptions extends ServicebusQueueOptions {}

export async function openQueue(
  url: string,
  options: Omit<OpenServicebusQueueOptions, "queue" | "topic" | "subscription"> = {},
): Promise<QueueDriver> {
  throw invalid("url", "servicebus://", url + String(options));
}

export async function openServicebusQueue(options: OpenServicebusQueueOptions): Promise<QueueDriver> {
  return createServicebusQueue(options);
}
