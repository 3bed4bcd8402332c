import { type CaseResult, type RunOptions, runTarget } from "../suite/run.ts";
import { targets } from "../targets/all.ts";
import type { Peer } from "./command.ts";
import { judge, strangers } from "./judge.ts";
import type { ReferenceServer, StartedServer } from "./servers.ts";
import type { Missing } from "./tools.ts";

/** A server as a command runs it. */
export function peerOf(server: ReferenceServer): Peer {
  return { name: server.name, run: (options) => runServer(server, options) };
}

/** Runs a server's targets side by side: nearly all of a case is waiting. */
async function runServer(server: ReferenceServer, options: RunOptions): Promise<readonly CaseResult[]> {
  const all = (status: "skipped" | "failed", reason: string): readonly CaseResult[] =>
    server.targets.map((target) => whole(server, target, status, reason));
  let started: StartedServer | Missing;
  try {
    started = await server.start();
  } catch (error) {
    return all("failed", `did not start: ${(error as Error).message}`);
  }
  if (started.missing !== undefined) return all("skipped", `not run: ${started.missing}`);
  const { sideBySide } = server;
  const given = { ...options, ...started.place, ...(sideBySide !== undefined && { sideBySide }) };
  try {
    const runs = server.targets.map((target) => runOn(server, target, given));
    return (await Promise.all(runs)).flat();
  } finally {
    await started.stop();
  }
}

async function runOn(server: ReferenceServer, name: string, options: RunOptions): Promise<readonly CaseResult[]> {
  const target = targets.find((one) => one.name === name);
  if (target === undefined) throw new Error(`${server.name}: there is no target ${name}`);
  const results = await runTarget(target, options);
  const judged = judge(name, results, server.divergences);
  const unknown = options.only === undefined ? strangers(name, results, server.divergences) : [];
  const missed = unknown.map((one) => whole(server, name, "failed", `declared, but there is no case "${one}"`));
  return [...judged.map((result) => ({ ...result, target: `${server.name} ${name}` })), ...missed];
}

function whole(server: ReferenceServer, target: string, status: "skipped" | "failed", reason: string): CaseResult {
  return {
    target: `${server.name} ${target}`,
    part: "all",
    subject: "all",
    name: "all",
    status,
    reason,
    durationMs: 0,
  };
}
