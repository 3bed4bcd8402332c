// What programs import: a queue by its name or URL, or one that needs no look at the subscription.
export { createClients, type PubsubClientConfig, type PubsubClients, type PubsubConnection } from "./client.ts";
export type { PubsubDelivery } from "./messages.ts";
export { type OpenPubsubQueueOptions, openPubsubQueue, openQueue } from "./open.ts";
export { createPubsubQueue, type PubsubQueueOptions } from "./queue.ts";
