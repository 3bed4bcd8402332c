import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fromUnknown, LeaseholdError } from "./errors.ts";
import { memoryBroker } from "./memory/broker.ts";
import { memoryItems } from "./memory/items.ts";
import { createMemoryQueue } from "./memory/queue.ts";
import type { QueueDriver } from "./queue/driver.ts";
import { createTaskStore } from "./store/create-task-store.ts";
import type { TaskStore } from "./store/task-store.ts";
import { refusal } from "./util/issues.ts";

/** What an adapter takes besides the URL; the adapter's page lists it. `memory` takes nothing. */
export type OpenOptions = Readonly<Record<string, unknown>>;

/** What `@leasehold/<scheme>` exports: one of the two, or both. */
interface Adapter {
  readonly openQueue?: (url: string, options?: OpenOptions) => Promise<QueueDriver> | QueueDriver;
  readonly openStore?: (url: string, options?: OpenOptions) => Promise<TaskStore> | TaskStore;
}

const URL_FORM = /^([a-z][a-z0-9]*):\/\/(\S+)$/;
const MEMORY_NAME = /^[A-Za-z0-9_.-]{1,128}$/;
/** Packages beside the adapters. */
const NO_ADAPTERS: ReadonlySet<string> = new Set(["core", "emulators"]);

/**
 * Opens the queue that a URL names: `sqs://…`, `pubsub://project/topic/subscription`, `servicebus://namespace/queue`, or `memory://name`, which
 * lives in this process. Any scheme but `memory` needs the package `@leasehold/<scheme>`, installed beside the program.
 * Throws `InvalidArgument` for a malformed URL, `Unsupported` when the package is missing or has no queue.
 */
export async function openQueue(url: string, options?: OpenOptions): Promise<QueueDriver> {
  const { scheme, rest } = split(url, "sqs://orders");
  if (scheme === "memory") {
    const name = memoryName(rest);
    return createMemoryQueue({ name, broker: memoryBroker(name) });
  }
  const { openQueue: open } = await loadAdapter(scheme);
  if (typeof open !== "function") throw hasNone(scheme, "queue");
  return open(url, options);
}

/**
 * Opens the task store that a URL names: `dynamodb://table`, or `memory://name`, which lives in this process. Packages and errors
 * as with {@link openQueue}.
 */
export async function openStore(url: string, options?: OpenOptions): Promise<TaskStore> {
  const { scheme, rest } = split(url, "dynamodb://tasks");
  if (scheme === "memory") return createTaskStore({ items: memoryItems(memoryName(rest)) });
  const { openStore: open } = await loadAdapter(scheme);
  if (typeof open !== "function") throw hasNone(scheme, "store");
  return open(url, options);
}

function split(url: unknown, example: string): { readonly scheme: string; readonly rest: string } {
  const match = typeof url === "string" ? URL_FORM.exec(url) : null;
  const [, scheme = "", rest = ""] = match ?? [];
  if (match === null || NO_ADAPTERS.has(scheme)) {
    throw refusal(
      "url",
      url,
      `<scheme>://<name>, such as "${example}" or "memory://demo"; the scheme names the package @leasehold/<scheme>`,
    );
  }
  return { scheme, rest };
}

function memoryName(rest: string): string {
  if (MEMORY_NAME.test(rest)) return rest;
  throw refusal("url", rest, 'memory://<name> with a name of 1 to 128 of A-Z a-z 0-9 _ . -, such as "memory://demo"');
}

async function loadAdapter(scheme: string): Promise<Adapter> {
  const name = `@leasehold/${scheme}`;
  try {
    return (await import(name)) as Adapter;
  } catch (error) {
    if (!saysMissing(error, name)) throw fromUnknown(error, `loading ${name}`);
  }
  const path = pathFromProgram(name);
  if (path === undefined) {
    throw new LeaseholdError(
      "Unsupported",
      `url: got the scheme "${scheme}", which needs the package ${name}, and that is not installed; run: npm install ${name}`,
      { details: { package: name } },
    );
  }
  try {
    return (await import(pathToFileURL(path).href)) as Adapter;
  } catch (error) {
    throw fromUnknown(error, `loading ${name}`);
  }
}

/** Where the program finds the package: a strict node_modules layout hides from core what only the program depends on. */
function pathFromProgram(name: string): string | undefined {
  for (const from of [process.argv[1], join(process.cwd(), "program.js")]) {
    if (from === undefined) continue;
    try {
      return createRequire(from).resolve(name);
    } catch (error) {
      if (!saysMissing(error, name)) throw fromUnknown(error, `loading ${name}`);
    }
  }
  return undefined;
}

/** Is it this package that is missing, and not one that it needs? */
function saysMissing(error: unknown, name: string): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && String(message).includes(`'${name}'`);
}

function hasNone(scheme: string, what: "queue" | "store"): LeaseholdError {
  return new LeaseholdError(
    "Unsupported",
    `url: got the scheme "${scheme}" for a ${what}, and the package @leasehold/${scheme} has none; choose a scheme that has`,
  );
}
