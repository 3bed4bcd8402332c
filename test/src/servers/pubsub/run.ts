import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { checkGroups } from "./all.ts";
import { type OpenBench, openBench } from "./bench.ts";

/** A server to check, running. */
export interface CheckedServer {
  /** `127.0.0.1:<port>` */
  readonly endpoint: string;
  readonly project: string;
  stop(): Promise<void>;
}

export interface ServerToCheck {
  /** Why it cannot be started on this machine; everything is skipped then. */
  readonly missing?: string | undefined;
  start(): Promise<CheckedServer>;
  /** Default: none. */
  readonly differences?: Differences;
}

/** What a server is known to do otherwise: the check's name, and what it does instead. */
export type Differences = Readonly<Record<string, string>>;

/** Nearly all of a check is waiting. */
const SIDE_BY_SIDE = 12;

/** Every check as a test on one server; those with a declared difference are skipped with its reason. */
export function runChecks(title: string, { missing, start, differences = {} }: ServerToCheck): void {
  describe(title, { concurrency: SIDE_BY_SIDE, skip: missing ?? false }, () => {
    let bench: OpenBench;
    let server: CheckedServer;
    before(async () => {
      server = await start();
      bench = await openBench(server.endpoint, server.project);
    });
    after(async () => {
      await bench.close();
      await server.stop();
    });

    for (const { subject, checks } of checkGroups) {
      for (const { name, run } of checks) {
        it(`${subject}: ${name}`, { skip: differences[name] ?? false }, () => run(bench));
      }
    }

    it("declares differences for checks that there are, each of its own name", () => {
      const names = checkGroups.flatMap(({ checks }) => checks.map(({ name }) => name));
      const unknown = Object.keys(differences).filter((name) => !names.includes(name));
      assert.deepEqual(unknown, []);
      assert.equal(new Set(names).size, names.length);
    });
  });
}
