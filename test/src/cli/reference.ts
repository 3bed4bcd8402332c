/**
 * `reference [server…] [--only TEXT]`: runs the suites on servers that others wrote, as far as this machine's toolchains can install
 * them: moto and LocalStack (Python), pstest (Go). Google's emulator, which is not installed by anybody's package, is a target of
 * `conformance`. What is missing is a skip with its reason. Known differences are declared, and have to show: a case that fails
 * undeclared has failed, and so has one that passes although declared. Exits with 1 then, with 2 when it was called wrongly.
 * `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { runCommand } from "../reference/command.ts";
import { referenceServers } from "../reference/servers.ts";

process.exitCode = await runCommand("reference", referenceServers);
