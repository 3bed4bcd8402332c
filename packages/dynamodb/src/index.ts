// The task store on DynamoDB: opened by URL or by options, and the table under it.

export type { ConnectionOptions } from "./connection.ts";
export { fromDynamo } from "./errors.ts";
export { createDynamoItems } from "./items.ts";
export { createDynamoStore, openStore } from "./store.ts";
export { type CreateTableOptions, checkTable, createTable } from "./table.ts";
