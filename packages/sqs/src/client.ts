import { SQSClient, type SQSClientConfig } from "@aws-sdk/client-sqs";
import { LeaseholdError } from "@leasehold/core/driver";

/**
 * Two clients of one account. Long polls occupy a socket each for up to 20 s, and waiting for a socket has no limit of its
 * own: on one client, polls could starve the calls that renew and settle (SQS-72).
 */
export interface SqsClients {
  /** Receives. Must be made with `md5: false` (SQS-30) and `maxAttempts: 1` (SQS-27). */
  readonly poll: SQSClient;
  /** Everything else. */
  readonly control: SQSClient;
}

/** Configuration of the clients: region, credentials, endpoint, … What keeps leases honest is not for configuration. */
export type SqsClientConfig = Omit<
  SQSClientConfig,
  "maxAttempts" | "retryStrategy" | "retryMode" | "md5" | "requestHandler"
>;

/** How a driver comes to its clients: by configuration (the default: what the environment says), or as a pair. */
export interface SqsConnection {
  readonly client?: SqsClientConfig;
  /** The driver uses them and does not end them; whoever made them does. */
  readonly clients?: SqsClients;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** Longer than the longest poll, 20 s. */
const POLL_TIMEOUT_MS = 30_000;
/** Shorter than any lease that is worth having. */
const CONTROL_TIMEOUT_MS = 8_000;

/**
 * Makes the pair. Neither client tries again by itself. A repeated receive leaves messages leased that nobody holds
 * (SQS-27). A repeated settle or extension would be made without regard to the lease it is about: core repeats those, with
 * the lease's deadline in view, and a client's own repeats would only hide from core how the time goes.
 */
export function createClients(config: SqsClientConfig = {}): SqsClients {
  const make = (timeoutMs: number): SQSClient =>
    new SQSClient({
      ...config,
      maxAttempts: 1,
      // One body with a wrong sum would throw away the whole batch (SQS-30); the driver checks each message by itself.
      md5: false,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: timeoutMs,
        throwOnRequestTimeout: true,
        socketTimeout: timeoutMs,
      },
    });
  return { poll: make(POLL_TIMEOUT_MS), control: make(CONTROL_TIMEOUT_MS) };
}

/** The clients of a driver, and how the driver lets go of them. */
export interface ConnectedClients extends SqsClients {
  /** Ends the clients if they were made here. */
  release(): void;
}

/**
 * The clients for a queue. Endpoint and region follow from the queue's URL where the configuration does not name them.
 * Throws `InvalidArgument` for a pair that would lose messages, and for two answers to one question.
 */
export function connectClients({ client, clients }: SqsConnection, queueUrl?: string): ConnectedClients {
  if (clients === undefined) {
    const { poll, control } = createClients({ ...placeOf(queueUrl), ...client });
    return {
      poll,
      control,
      release() {
        poll.destroy();
        control.destroy();
      },
    };
  }
  if (client !== undefined) {
    throw new LeaseholdError("InvalidArgument", "client: got a configuration beside clients: give one of the two");
  }
  if (clients.poll.config.md5 !== false) {
    throw new LeaseholdError(
      "InvalidArgument",
      "clients.poll: expected a client with md5: false, since one bad sum makes that client throw away a whole batch of leased messages; make the pair with createClients",
    );
  }
  return { ...clients, release: () => undefined };
}

const REGION_OF_HOST = /\bsqs\.([a-z0-9-]+)\.(?:vpce\.)?amazonaws\.com/;

function placeOf(queueUrl: string | undefined): SqsClientConfig {
  if (queueUrl === undefined) return {};
  const { origin, hostname } = new URL(queueUrl);
  const region = REGION_OF_HOST.exec(hostname)?.[1];
  return { endpoint: origin, ...(region !== undefined && { region }) };
}
