/**
 * `live [aws|gcp|azure…] [--only TEXT] --yes`: runs the suites on real accounts, in queues and a table that it makes and removes. Prints
 * what it will ask of whom, and about what that costs; without `--yes` that is all. An account that the environment does not name
 * is a skip with its reason (`AWS_REGION`, `GOOGLE_CLOUD_PROJECT`, `SERVICEBUS_CONNECTION_STRING`; docs/live-tests.md). Exits with 1 when
 * something failed, with 2 when it was called wrongly or not confirmed. `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { accountsOf } from "../live/accounts.ts";
import { estimateLines, estimateOf } from "../live/estimate.ts";
import { queueSuites } from "../queue/all.ts";
import { runCommand } from "../reference/command.ts";
import { peerOf } from "../reference/run.ts";
import { storeSuites } from "../store/all.ts";

const CONFIRMED = "--yes";

const accounts = accountsOf(process.env);
const parameters = process.argv.slice(2);
const rest = parameters.filter((parameter) => parameter !== CONFIRMED);
const asked = accounts.filter(({ name }) => rest.includes(name));

const countOf = (suites: readonly { readonly cases: readonly unknown[] }[]): number =>
  suites.reduce((sum, { cases }) => sum + cases.length, 0);

for (const { name, what, targets, needs } of asked.length === 0 ? accounts : asked) {
  const unset = needs.filter((need) => !process.env[need]);
  console.log(`${name}: ${what}${unset.length > 0 ? `: not run, ${unset.join(", ")} not set` : ""}`);
  const estimates = targets.map((target) =>
    target === "dynamodb"
      ? estimateOf(target, "store", countOf(storeSuites))
      : estimateOf(target, "queue", countOf(queueSuites)),
  );
  for (const line of estimateLines(estimates)) console.log(line);
}

if (parameters.includes(CONFIRMED)) {
  process.exitCode = await runCommand("live", accounts.map(peerOf), rest);
} else {
  console.log(`Nothing was run. Add ${CONFIRMED} to run it, on your account and at your cost.`);
  process.exitCode = 2;
}
