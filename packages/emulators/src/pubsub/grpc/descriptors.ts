import { createRequire } from "node:module";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";

/** The two services as the vendor's own package describes them. */
export interface Services {
  readonly publisher: ServiceDefinition;
  readonly subscriber: ServiceDefinition;
}

let loaded: Services | undefined;

/** Parsed when first needed, and once: it takes longer than anything else here. */
export function services(): Services {
  if (loaded === undefined) {
    const json = createRequire(import.meta.url)("@google-cloud/pubsub-api/build/protos/protos.json") as object;
    const definitions = fromJSON(json, { longs: String, enums: String, defaults: true, oneofs: true });
    loaded = {
      publisher: definitions["google.pubsub.v1.Publisher"] as ServiceDefinition,
      subscriber: definitions["google.pubsub.v1.Subscriber"] as ServiceDefinition,
    };
  }
  return loaded;
}
