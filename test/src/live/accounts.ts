import { DeleteTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { ReferenceServer, StartedServer } from "../reference/servers.ts";
import type { Missing } from "../reference/tools.ts";
import type { Place } from "../suite/run.ts";
import { TABLE } from "../targets/dynamodb-store.ts";

/** An account on which the suites are run. */
export interface Account extends ReferenceServer {
  /** Environment variables without which nothing is asked of it. */
  readonly needs: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Clouds, as the environment names them. What a case makes there, it removes; a table of DynamoDB is removed at the end. */
export function accountsOf(environment: Environment): readonly Account[] {
  return [
    account({
      name: "aws",
      what: "Amazon SQS and DynamoDB",
      targets: ["sqs", "sqs/fifo", "dynamodb"],
      needs: ["AWS_REGION"],
      place: { endpoint: "aws" },
      clean: deleteTable,
    }),
    account({
      name: "gcp",
      what: "Google Cloud Pub/Sub",
      targets: ["pubsub", "pubsub/exactly-once", "pubsub/ordered"],
      needs: ["GOOGLE_CLOUD_PROJECT"],
      place: { endpoint: "gcp" },
    }),
    account({
      name: "azure",
      what: "Azure Service Bus",
      targets: ["servicebus", "servicebus/sessions", "servicebus/topic"],
      needs: ["SERVICEBUS_CONNECTION_STRING"],
      place: { connectionString: environment["SERVICEBUS_CONNECTION_STRING"] ?? "" },
    }),
  ];

  function account({ place, clean, ...about }: AccountParts): Account {
    return {
      ...about,
      divergences: [],
      async start(): Promise<StartedServer | Missing> {
        const unset = about.needs.filter((name) => !environment[name]);
        if (unset.length > 0) return { missing: `${unset.join(", ")}: not set` };
        return { place, stop: async () => clean?.() };
      },
    };
  }
}

interface AccountParts extends Pick<Account, "name" | "what" | "targets" | "needs"> {
  readonly place: Place;
  readonly clean?: () => Promise<void>;
}

async function deleteTable(): Promise<void> {
  const client = new DynamoDBClient({});
  try {
    await client.send(new DeleteTableCommand({ TableName: TABLE }));
  } catch (error) {
    // The run did not get as far as making it.
    if ((error as Error).name !== "ResourceNotFoundException") throw error;
  } finally {
    client.destroy();
  }
}
