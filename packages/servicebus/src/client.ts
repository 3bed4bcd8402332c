import { ServiceBusClient, type ServiceBusClientOptions, type TokenCredential } from "@azure/service-bus";
import { isLeaseholdError, LeaseholdError, sleep, systemClock } from "@leasehold/core/driver";

/**
 * Two clients of one namespace, a connection each: messages that stream in on the one cannot hold up the sends and renewals
 * of the other.
 */
export interface ServicebusClients {
  /** Receives, settles on the links that it received on, and renews sessions, which belong to their link. */
  readonly poll: ServiceBusClient;
  /** Sends, renews locks of messages, and settles by lock token. */
  readonly control: ServiceBusClient;
}

/** Configuration of the clients: where the namespace is and who asks. What keeps leases honest is not for configuration. */
export interface ServicebusClientConfig extends Omit<ServiceBusClientOptions, "retryOptions"> {
  /** `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…`, without an `EntityPath` or with that of the queue. */
  readonly connectionString?: string;
  /** `orders.servicebus.windows.net`, with `credential`. */
  readonly namespace?: string;
  /** Of Entra ID, such as `new DefaultAzureCredential()` of `@azure/identity`. */
  readonly credential?: TokenCredential;
  /** How long one call may take, ms. Default 8,000. Waits for a session, and settles on the link of the message, have 30,000. */
  readonly timeoutMs?: number;
}

/** How a driver comes to its clients: by configuration, or as a pair. */
export interface ServicebusConnection {
  readonly client?: ServicebusClientConfig;
  /** The driver uses them and does not end them; whoever made them does. */
  readonly clients?: ServicebusClients;
}

/** Shorter than any lock that is worth having; the SDK's own is 60 s (SB-08). */
const CALL_TIMEOUT_MS = 8_000;
/**
 * A wait for a session cannot be ended, and what it brings when nobody asks any longer is let go again: so it lasts a little
 * longer than a poll. A settle may take as long as core waits for it.
 */
const POLL_TIMEOUT_MS = 30_000;
/** A client whose server went away first may never end. */
const CLOSE_PATIENCE_MS = 2_000;

/**
 * Makes the pair. Neither client tries again by itself: a settle that is made once more finds gone what its first try gave
 * up (SB-24), and one that goes on for minutes outlasts the lock (SB-08). Core repeats, with the lease's deadline in view.
 * Throws `InvalidArgument` for a configuration that names no namespace, or that the SDK cannot read.
 */
export function createClients(config: ServicebusClientConfig): ServicebusClients {
  const { connectionString, namespace, credential, timeoutMs = CALL_TIMEOUT_MS, ...others } = config;
  const make = (timeoutInMs: number): ServiceBusClient => {
    // The SDK writes into the options it is given.
    const options = { ...others, retryOptions: { maxRetries: 0, timeoutInMs } };
    if (connectionString !== undefined) return new ServiceBusClient(connectionString, options);
    if (namespace !== undefined && credential !== undefined)
      return new ServiceBusClient(namespace, credential, options);
    throw new LeaseholdError("InvalidArgument", "client: expected connectionString, or namespace and credential");
  };
  try {
    return { poll: make(Math.max(timeoutMs, POLL_TIMEOUT_MS)), control: make(timeoutMs) };
  } catch (error) {
    if (isLeaseholdError(error)) throw error;
    // The SDK's own text may hold the key, and so may its cause.
    const given = connectionString === undefined ? "namespace, credential and options" : "connectionString and options";
    throw new LeaseholdError("InvalidArgument", `client: the SDK cannot read these: ${given}`);
  }
}

/** The clients of a driver, and how the driver lets go of them. */
export interface ConnectedClients extends ServicebusClients {
  /** Ends the clients if they were made here. Never rejects. */
  release(): Promise<void>;
}

/** Throws `InvalidArgument` for no answer, and for two answers, to one question. */
export function connectClients({ client, clients }: ServicebusConnection): ConnectedClients {
  if (clients !== undefined) {
    if (client === undefined) return { ...clients, release: async () => undefined };
    throw new LeaseholdError("InvalidArgument", "client: got a configuration beside clients: give one of the two");
  }
  if (client === undefined) {
    throw new LeaseholdError("InvalidArgument", "client: expected a configuration, or clients made with createClients");
  }
  const { poll, control } = createClients(client);
  return { poll, control, release: () => closeInTime([poll, control]) };
}

/** Ends what it can: a connection that cannot be closed is closed by the service when it has been idle. */
export async function closeInTime(closables: readonly { close(): Promise<void> }[]): Promise<void> {
  const enough = new AbortController();
  const closed = Promise.allSettled(closables.map(async (closable) => closable.close()));
  await Promise.race([closed, sleep(systemClock, CLOSE_PATIENCE_MS, enough.signal)]);
  enough.abort();
}
