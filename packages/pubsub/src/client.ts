import { type ClientConfig, PubSub, v1 } from "@google-cloud/pubsub";
import { LeaseholdError } from "@leasehold/core/driver";

/**
 * The generated clients below the SDK's own `PubSub`: nothing in them renews, drops or batches anything (PS-05 to PS-08, PS-20).
 * Each has a connection of its own, so that a large answer to a pull cannot hold up the calls that renew and settle.
 */
export interface PubsubClients {
  /** Receives. */
  readonly poll: v1.SubscriberClient;
  /** Extends, settles, asks. */
  readonly control: v1.SubscriberClient;
  readonly publisher: v1.PublisherClient;
}

/**
 * Configuration of the clients, as the SDK's `PubSub` takes it: `apiEndpoint`, `credentials`, `keyFilename`, `emulatorMode`, and
 * options of the gRPC channel (`grpc.…`). What keeps leases honest is not for configuration.
 */
export type PubsubClientConfig = ClientConfig & { readonly [channelOption: `grpc.${string}`]: unknown };

/** How a driver comes to its clients: by configuration (the default: what the environment says), or as a set. */
export interface PubsubConnection {
  readonly client?: PubsubClientConfig;
  /** The driver uses them and does not close them; whoever made them does. */
  readonly clients?: PubsubClients;
}

/** Shorter than any lease that is worth having. */
export const CONTROL_TIMEOUT_MS = 8_000;

const OVERRIDABLE = {
  // A connection that went silent is noticed after this long, and not after the quarter of an hour that TCP takes.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  // After an outage leases wait for the next try to connect; the default lets two minutes pass.
  "grpc.initial_reconnect_backoff_ms": 200,
  "grpc.max_reconnect_backoff_ms": 5_000,
} as const;

const FIXED = {
  "grpc.enable_retries": 0,
  // Whoever may write the DNS records of the endpoint could turn retries on again.
  "grpc.service_config_disable_resolution": 1,
  // Clients of one endpoint share a connection otherwise.
  "grpc.use_local_subchannel_pool": 1,
  // Outcomes of many ack ids come in one trailer.
  "grpc.max_metadata_size": 4 * 1_024 * 1_024,
} as const;

/**
 * Makes the clients. No call is repeated by them, whatever happens: a repeated pull leaves messages leased that nobody holds, and
 * core repeats the others with the lease's deadline in view. The retries of the layer between (google-gax) are switched off call
 * by call, see {@link callOptions}. `PUBSUB_EMULATOR_HOST` counts where no `apiEndpoint` is given.
 */
export function createClients(config: PubsubClientConfig = {}): PubsubClients {
  const { options, isEmulator } = new PubSub({ ...OVERRIDABLE, ...config, ...FIXED });
  // An emulator takes no credentials; a client that does not know its universe looks for some all the same.
  const settled = isEmulator ? { ...options, universeDomain: options.universeDomain ?? "googleapis.com" } : options;
  return {
    poll: new v1.SubscriberClient({ ...settled }),
    control: new v1.SubscriberClient({ ...settled }),
    publisher: new v1.PublisherClient({ ...settled }),
  };
}

/** The clients of a driver, and how the driver lets go of them. */
export interface ConnectedClients extends PubsubClients {
  /** Closes the clients if they were made here. */
  release(): Promise<void>;
}

/** The clients for a queue. Throws `InvalidArgument` for two answers to one question. */
export function connectClients({ client, clients }: PubsubConnection): ConnectedClients {
  if (clients === undefined) {
    const made = createClients(client);
    return {
      ...made,
      async release() {
        await Promise.all([made.poll.close(), made.control.close(), made.publisher.close()]);
      },
    };
  }
  if (client !== undefined) {
    throw new LeaseholdError("InvalidArgument", "client: got a configuration beside clients: give one of the two");
  }
  return { ...clients, release: async () => undefined };
}

/** How each call is made: with a deadline, ms, and once. */
export function callOptions(
  timeoutMs: number,
  signal?: AbortSignal,
): { readonly timeout: number; readonly retry: null; readonly signal?: AbortSignal } {
  return { timeout: timeoutMs, retry: null, ...(signal !== undefined && { signal }) };
}

/**
 * The client with its credentials found. A call of a client that finds none leaves a rejection that nobody can handle, and the
 * client would remember the failure for good; so it is awaited first, and forgotten when it fails. Throws `PermissionDenied`.
 */
export async function ready<Client extends Preparable>(client: Client): Promise<Client> {
  try {
    await client.initialize();
  } catch (cause) {
    delete client.subscriberStub;
    delete client.publisherStub;
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new LeaseholdError("PermissionDenied", `finding credentials: ${text.slice(0, 300)}`, {
      cause,
      details: { sent: false },
    });
  }
  return client;
}

type Preparable = Pick<v1.SubscriberClient, "initialize"> & {
  subscriberStub?: v1.SubscriberClient["subscriberStub"];
  publisherStub?: v1.PublisherClient["publisherStub"];
};
