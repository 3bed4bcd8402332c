/**
 * `containers [server…] [--only TEXT]`: runs the suites on LocalStack, Google's Pub/Sub emulator and Microsoft's Service Bus emulator in
 * containers, each by its testcontainers module. Needs a Docker engine: without one it says so in one line and exits with 1.
 * `LOCALSTACK_IMAGE`, `PUBSUB_EMULATOR_IMAGE`, `SERVICEBUS_EMULATOR_IMAGE` and `SERVICEBUS_DATABASE_IMAGE` name other images. Running
 * Microsoft's images accepts their licences. `LEASEHOLD_SUMMARY` names a file for the counts.
 */
import { getContainerRuntimeClient } from "testcontainers";
import { engineProblem } from "../containers/engine.ts";
import { containerServers } from "../containers/servers.ts";
import { runCommand } from "../reference/command.ts";
import { peerOf } from "../reference/run.ts";

const problem = await engineProblem(getContainerRuntimeClient);
if (problem === undefined) {
  process.exitCode = await runCommand("containers", containerServers.map(peerOf));
} else {
  console.error(problem);
  process.exitCode = 1;
}
