/**
 * The unit tests: every `*.test.ts` beside what it tests, in one `node --test`. With `--servers` instead those that start servers
 * and processes, and wait for them. Parameters that are files limit the run to them; parameters that begin with `-` go to Node.
 * A test that takes longer than three minutes has failed, so that one that never ends cannot hold up the run.
 */
import { pathToFileURL } from "node:url";
import { runProcess } from "./run-process.ts";
import { files } from "./workspace.ts";

/** Where tests drive servers over sockets, or processes: minutes, not seconds. */
const SERVERS = [
  "packages/emulators/src/**/*.test.ts",
  "test/src/{chaos,fuzz,peers,servers,targets}/**/*.test.ts",
  "examples/agent-run/**/*.test.ts",
];
const ALL = ["packages/*/src/**/*.test.ts", "test/src/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts"];

const servers = files(...SERVERS);
const onServers = process.argv.includes("--servers");
const parameters = process.argv.slice(2).filter((parameter) => parameter !== "--servers");
const flags = parameters.filter((parameter) => parameter.startsWith("-"));
const named = parameters.filter((parameter) => !parameter.startsWith("-"));
const others = (): string[] => files(...ALL).filter((file) => !servers.includes(file));
const selected = named.length > 0 ? named : onServers ? servers : others();

const reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"];
if (process.env["LEASEHOLD_SUMMARY"]) {
  const reporter = pathToFileURL(`${import.meta.dirname}/summary-reporter.ts`).href;
  reporters.push(`--test-reporter=${reporter}`, "--test-reporter-destination=stderr");
}

if (selected.length === 0) {
  // Without files Node would look for tests by names of its own choice, and find scripts/test.ts.
  console.error("No unit tests found.");
  process.exit(1);
}
const { code } = await runProcess(["node", "--test", "--test-timeout=180000", ...reporters, ...flags, ...selected], {
  output: "stream",
});
process.exitCode = code;
