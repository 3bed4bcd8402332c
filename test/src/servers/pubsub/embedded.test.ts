import { startPubsub } from "@leasehold/emulators";
import { runChecks } from "./run.ts";

runChecks("Pub/Sub checks on the embedded server", {
  async start() {
    const server = await startPubsub();
    return { endpoint: server.endpoint, project: server.projectId, stop: () => server.stop() };
  },
});
