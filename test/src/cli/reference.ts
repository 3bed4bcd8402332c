/**
 * `reference [name…] [--only TEXT]`: runs the suites on servers that others wrote, as far as this machine's toolchains can install
 * them: moto and LocalStack (Python), pstest (Go); and the vendors' Python and Go clients on the embedded servers. Google's emulator, which is not installed by anybody's package, is a target of
 * `conformance`. What is missing is a skip with its reason. Known differences are declared, and have to show: a case that fails
 * undeclared has failed, and so has one that passes although declared. Exits with 1 then, with 2 when it was called wrongly.
 * `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { referenceClients, runClient } from "../reference/clients.ts";
import { type Peer, runCommand } from "../reference/command.ts";
import { peerOf } from "../reference/run.ts";
import { referenceServers } from "../reference/servers.ts";

const clients = referenceClients.map(
  (client): Peer => ({ name: client.name, run: (options) => runClient(client, options) }),
);

process.exitCode = await runCommand("reference", [...clients, ...referenceServers.map(peerOf)]);
