import { fork } from "node:child_process";
import { once } from "node:events";
import type { HeldAnswer, Ledger, SystemFaults } from "./ledger.ts";

/** The external system, running in a process of its own. */
export interface SystemProcess {
  readonly url: string;
  ledger(): Promise<Ledger>;
  /** Calls back with each answer that waits for `letGo`. `gone` resolves when the caller has given up before. */
  onHeld(listener: (answer: HeldAnswer, gone: Promise<void>) => void): void;
  letGo(answer: HeldAnswer): void;
  stop(): Promise<void>;
}

/** Starts it on a free port of 127.0.0.1. Throws when it ends before it listens. */
export async function startSystem(faults: SystemFaults): Promise<SystemProcess> {
  const child = fork(new URL("./system.ts", import.meta.url), [JSON.stringify(faults)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const [message] = (await Promise.race([
    once(child, "message"),
    exited.then(([code]) => {
      throw new Error(`the external system ended with ${String(code)} before it listened`);
    }),
  ])) as [{ readonly port: number }];
  const url = `http://127.0.0.1:${message.port}`;
  return {
    url,
    async ledger() {
      const response = await fetch(`${url}/ledger`);
      if (!response.ok) throw new Error(`the ledger answered ${response.status}`);
      return (await response.json()) as Ledger;
    },
    onHeld(listener) {
      const goers = new Map<number, () => void>();
      child.on("message", ({ held, gone }: { readonly held?: HeldAnswer; readonly gone?: number }) => {
        if (gone !== undefined) goers.get(gone)?.();
        if (held !== undefined) listener(held, new Promise((resolve) => goers.set(held.id, resolve)));
      });
    },
    letGo: ({ id }) => void child.send({ letGo: id }),
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
