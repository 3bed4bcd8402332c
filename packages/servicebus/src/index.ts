// What programs import: a queue by its name or URL, or one that needs no look at the namespace.
export {
  createClients,
  type ServicebusClientConfig,
  type ServicebusClients,
  type ServicebusConnection,
} from "./client.ts";
export type { ServicebusDelivery } from "./messages.ts";
export type { ServicebusEntity } from "./names.ts";
export { type OpenServicebusQueueOptions, openQueue, openServicebusQueue } from "./open.ts";
export { createServicebusQueue, type ServicebusQueueOptions } from "./queue.ts";
