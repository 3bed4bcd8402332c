import type { Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { ConnectionOptions } from "./connection.ts";

/** dynalite has no types. */
const require = createRequire(import.meta.url);
const dynalite = require("dynalite") as (options: Readonly<Record<string, number>>) => Server;

/** A DynamoDB of its own for a test, and how to reach a table there. It ends with the test. */
export async function startDynalite(context: TestContext): Promise<(table: string) => ConnectionOptions> {
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  const endpoint = await listen(server);
  context.after(() => new Promise((resolve) => server.close(resolve)));
  return (table) => ({ table, config: localConfig(endpoint) });
}

/** Starts a server on a free port, and answers its address. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function localConfig(endpoint: string): NonNullable<ConnectionOptions["config"]> {
  return { endpoint, region: "local", credentials: { accessKeyId: "local", secretAccessKey: "local" } };
}
