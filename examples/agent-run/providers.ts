import { openQueue, openStore, type QueueDriver, type TaskStore } from "@leasehold/core";

/** Where the run is kept. Each call opens a connection of its own, as each process has. */
export interface Provider {
  openQueue(): Promise<QueueDriver>;
  openStore(): Promise<TaskStore>;
}

const PROVIDERS: Readonly<Record<string, () => Provider>> = {
  memory: () => ({
    openQueue: () => openQueue("memory://agent-run"),
    openStore: () => openStore("memory://agent-run"),
  }),
};

/** `undefined` for one that does not exist; see {@link providerNames}. */
export function providerOf(name: string): Provider | undefined {
  return Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name]?.() : undefined;
}

export const providerNames: readonly string[] = Object.keys(PROVIDERS);
