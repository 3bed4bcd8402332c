// What programs import: a queue by its name or URL, or one that needs no look at the account.
export { createClients, type SqsClientConfig, type SqsClients, type SqsConnection } from "./client.ts";
export type { SqsDelivery } from "./messages.ts";
export { type OpenSqsQueueOptions, openQueue, openSqsQueue } from "./open.ts";
export { createSqsQueue, type SqsQueueOptions } from "./queue.ts";
