import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { Dice } from "../simulation/random.ts";

/**
 * The world outside, with a book of its own that no worker can change: a blog that honours idempotency keys, a tracker whose
 * issues have the names that callers give them, a bank that takes every transfer as a new one and can be searched, and a
 * chat that does the same and cannot. None of its answers depends on what leasehold believes.
 */
export interface Outside {
  readonly port: number;
  readonly entries: readonly Entry[];
  /** A handler began, by task and fence. */
  readonly runs: readonly Run[];
  /** How often an answer was withheld, late, or cut off after the write. */
  readonly faults: Readonly<Record<OutsideFault, number>>;
  /** No more faults from here on. */
  calm(): void;
  close(): Promise<void>;
}

export type OutsideFault = "hung" | "slow" | "answer lost" | "refused";
export const SYSTEMS = ["blog", "tracker", "bank", "chat"] as const;
export type System = (typeof SYSTEMS)[number];

/** Something that is there. */
export interface Entry {
  readonly system: System;
  readonly id: string;
  readonly key: string;
  /** Which task asked for it. */
  readonly task: string;
  readonly fence: number;
}

export interface Run {
  readonly task: string;
  readonly fence: number;
}

const SLOW_MS = 1_200;

export async function startOutside(dice: Dice): Promise<Outside> {
  const entries: Entry[] = [];
  const runs: Run[] = [];
  const faults: Record<OutsideFault, number> = { hung: 0, slow: 0, "answer lost": 0, refused: 0 };
  let stormy = true;

  function faultOf(isWrite: boolean): OutsideFault | undefined {
    if (!stormy || !dice.chance(0.12)) return undefined;
    const kind = dice.pick<OutsideFault>(
      isWrite ? ["hung", "slow", "answer lost", "answer lost", "refused"] : ["slow", "refused"],
    );
    faults[kind]++;
    return kind;
  }

  /** A system with keys has one entry for each; the others have one for each call. */
  function write(system: System, entry: Omit<Entry, "id" | "system">): Entry {
    const known = system === "bank" || system === "chat" ? undefined : find(system, entry.key);
    if (known !== undefined) return known;
    const made = { system, id: `${system}-${entries.length + 1}`, ...entry };
    entries.push(made);
    return made;
  }

  function find(system: System, key: string): Entry | undefined {
    return entries.find((entry) => entry.system === system && entry.key === key);
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name, key = ""] = (request.url ?? "/").split("/").map(decodeURIComponent);
    if (name === "runs") {
      runs.push((await json(request)) as Run);
      return answer(response, 200, {});
    }
    const system = SYSTEMS.find((each) => each === name);
    if (system === undefined) return answer(response, 404, {});
    const isWrite = request.method === "POST";
    const body = isWrite ? ((await json(request)) as Omit<Entry, "id" | "system">) : undefined;
    const fault = faultOf(isWrite);
    if (fault === "refused") return answer(response, 503, { error: "come again" });
    const found = body === undefined ? (system === "chat" ? undefined : find(system, key)) : write(system, body);
    if (fault === "hung") return;
    if (fault === "answer lost") return void request.socket.destroy();
    if (fault === "slow") await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    return found === undefined ? answer(response, 404, {}) : answer(response, 200, found);
  }

  function answer(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  const server = createServer((request, response) => {
    // A worker that is killed in the middle of a request has sent none.
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    entries,
    runs,
    faults,
    calm() {
      stormy = false;
      // Answers that were withheld never come.
      server.closeAllConnections();
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
