import assert from "node:assert/strict";
import { createClients, type PubsubClients } from "@leasehold/pubsub";
import { closeAll } from "./pubsub-clients.ts";
import { ACK_DEADLINE_SECONDS, type PubsubSide, redriveByHand } from "./pubsub-side.ts";

/** What a case cannot ask of a server that it does not own. */
const REMOTE_CANNOT = "this server is not ours: nothing can be done to it";

export interface Remote {
  /** `host:port` of an emulator; `gcp`: the project that the environment names, in `GOOGLE_CLOUD_PROJECT`. */
  readonly endpoint: string;
  /** What this server is known not to do, each with the reason. */
  readonly cannot?: PubsubSide["cannot"];
}

/** A server somewhere else, or the service; in real time, and nothing is done to it. */
export function remoteSide({ endpoint, cannot = {} }: Remote): PubsubSide {
  const sets: PubsubClients[] = [];
  const isService = endpoint === "gcp";
  const project = isService ? process.env["GOOGLE_CLOUD_PROJECT"] : "local";
  assert.ok(project, "GOOGLE_CLOUD_PROJECT: expected the project to run the cases in, got nothing");
  const refuse = async (): Promise<never> => {
    throw new Error(REMOTE_CANNOT);
  };
  return {
    has: new Set(["shortLease"]),
    minLeaseMs: ACK_DEADLINE_SECONDS * 1_000,
    toleranceMs: 2_000,
    cannot: {
      expire: REMOTE_CANNOT,
      duplicate: REMOTE_CANNOT,
      ...(isService && {
        "delivery limit":
          "the service forwards by count once its own account may publish and subscribe, and about then (PS-41, PS-42)",
      }),
      ...cannot,
    },
    project,
    isShared: true,
    time: {},
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    until: (call) => call,
    connect() {
      const set = createClients(isService ? {} : { apiEndpoint: endpoint, projectId: project, emulatorMode: true });
      sets.push(set);
      return set;
    },
    failNext: () => assert.fail(REMOTE_CANNOT),
    async act(act, queue) {
      if (act !== "redrive by hand") await refuse();
      const [admin] = sets;
      assert.ok(
        admin !== undefined && (await redriveByHand(admin, project, queue)) > 0,
        "there was nothing to redrive",
      );
    },
    stop: refuse,
    start: refuse,
    close: () => closeAll(sets),
  };
}
