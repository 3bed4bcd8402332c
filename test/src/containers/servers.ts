import { AzureServiceBusContainer } from "@testcontainers/azureservicebus";
import { PubSubEmulatorContainer } from "@testcontainers/gcloud";
import { LocalstackContainer } from "@testcontainers/localstack";
import type { Divergence } from "../reference/divergence.ts";
import { localstackDivergences } from "../reference/localstack-divergences.ts";
import type { ReferenceServer } from "../reference/servers.ts";
import type { Difference } from "../suite/differences.ts";
import { differences, orderDifferences } from "../targets/pubsub-google-differences.ts";

/** Which image of a server is run, unless the environment variable names another. */
export interface Image {
  readonly variable: string;
  readonly standard: string;
}

export const images = {
  /** The last that starts without an account token: https://github.com/localstack/localstack/releases/tag/v4.14.0 */
  localstack: { variable: "LOCALSTACK_IMAGE", standard: "localstack/localstack:4.14.0" },
  /** Google's emulators, Pub/Sub among them. */
  pubsub: {
    variable: "PUBSUB_EMULATOR_IMAGE",
    standard: "gcr.io/google.com/cloudsdktool/google-cloud-cli:517.0.0-emulators",
  },
  /** From version 2 on entities can be made while it runs. */
  servicebus: {
    variable: "SERVICEBUS_EMULATOR_IMAGE",
    standard: "mcr.microsoft.com/azure-messaging/servicebus-emulator:2.0.0",
  },
  servicebusDatabase: {
    variable: "SERVICEBUS_DATABASE_IMAGE",
    standard: "mcr.microsoft.com/mssql/server:2022-CU14-ubuntu-22.04",
  },
} as const satisfies Readonly<Record<string, Image>>;

export function imageOf(
  { variable, standard }: Image,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  return environment[variable] ?? standard;
}

const PUBSUB_PROJECT = "local";
const SERVICEBUS_HTTP_PORT = 5_300;
/** Microsoft's emulator takes ten connections: https://learn.microsoft.com/azure/service-bus-messaging/overview-emulator */
const SERVICEBUS_SIDE_BY_SIDE = 1;
const PUBSUB_TARGETS = ["pubsub", "pubsub/exactly-once", "pubsub/ordered"];

/** The servers in containers. What they do otherwise was seen with the same servers outside of containers, where it was. */
export const containerServers: readonly ReferenceServer[] = [
  {
    name: "localstack",
    what: "LocalStack, SQS and DynamoDB",
    targets: ["sqs", "sqs/fifo", "dynamodb"],
    divergences: localstackDivergences,
    async start() {
      const container = await new LocalstackContainer(imageOf(images.localstack))
        .withEnvironment({ SERVICES: "sqs,dynamodb" })
        .start();
      return { place: { endpoint: container.getConnectionUri() }, stop: () => end(container) };
    },
  },
  {
    name: "pubsub-emulator",
    what: "Google's Pub/Sub emulator",
    targets: PUBSUB_TARGETS,
    divergences: [
      ...googleDivergences(differences, PUBSUB_TARGETS),
      ...googleDivergences(orderDifferences, ["pubsub/ordered"]),
    ],
    async start() {
      const container = await new PubSubEmulatorContainer(imageOf(images.pubsub)).withProjectId(PUBSUB_PROJECT).start();
      return { place: { endpoint: container.getEmulatorEndpoint() }, stop: () => end(container) };
    },
  },
  {
    name: "servicebus-emulator",
    what: "Microsoft's Service Bus emulator with its database",
    targets: ["servicebus", "servicebus/sessions", "servicebus/topic"],
    divergences: [],
    sideBySide: SERVICEBUS_SIDE_BY_SIDE,
    async start() {
      const container = await new AzureServiceBusContainer(imageOf(images.servicebus))
        .acceptLicense()
        .withMssqlImage(imageOf(images.servicebusDatabase))
        .start();
      // The test's side asks for entities there; AMQP has a port of its own.
      process.env["SERVICEBUS_EMULATOR_HTTP_PORT"] = String(container.getMappedPort(SERVICEBUS_HTTP_PORT));
      return { place: { connectionString: container.getConnectionString() }, stop: () => end(container) };
    },
  },
];

/** Declared by the jar that the Google Cloud SDK brings; the image may hold another version of it. */
function googleDivergences(
  known: Readonly<Record<string, Difference>>,
  targets: readonly string[],
): readonly Divergence[] {
  return Object.entries(known).map(([name, { reason, link }]) => ({
    case: name,
    targets,
    does: reason,
    service: "holds the case",
    source: link,
    shows: /./,
    sometimes: true,
  }));
}

async function end(container: { stop(): Promise<unknown> }): Promise<void> {
  await container.stop();
}
