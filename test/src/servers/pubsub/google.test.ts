import { findGooglePubsub, startGooglePubsub } from "../../peers/google-pubsub.ts";
import { googleDifferences } from "./google-differences.ts";
import { runChecks } from "./run.ts";

runChecks("Pub/Sub checks on Google's emulator", {
  missing: findGooglePubsub().missing,
  async start() {
    const peer = await startGooglePubsub();
    if (peer.missing !== undefined) throw new Error(peer.missing);
    return { ...peer, project: "local" };
  },
  differences: googleDifferences,
});
