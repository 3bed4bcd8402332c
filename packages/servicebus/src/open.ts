import { randomUUID } from "node:crypto";
import { invalid, LeaseholdError, type Logger, type QueueDriver, silentLogger } from "@leasehold/core/driver";
import { type ConnectedClients, connectClients } from "./client.ts";
import { linksOf } from "./entity.ts";
import { fromServicebus } from "./errors.ts";
import { byToken, NO_TOKEN } from "./messages.ts";
import { type EntityNames, namesOf } from "./names.ts";
import { createServicebusQueue, type ServicebusQueueOptions } from "./queue.ts";
import { type Administration, readSettings } from "./settings.ts";

export interface OpenServicebusQueueOptions extends ServicebusQueueOptions {
  /** Default: what the entity says. Programs that may only send have to give it. */
  readonly sessions?: boolean;
  /** Default: what the entity says. */
  readonly maxMessageBytes?: number;
  /** Reads the lock duration, and the maximum of deliveries, which AMQP does not tell. Default: neither is read. */
  readonly administration?: Administration;
}

type Unnamed = Omit<OpenServicebusQueueOptions, "queue" | "topic" | "subscription">;

/**
 * A broker that counts is not the judge of a task: with few deliveries allowed (10, unless set) it moves away messages of tasks
 * that are alive. It counts fewer of them than other brokers, since copies begin anew.
 */
const FEW_DELIVERIES = 20;
const URL_FORM = /^servicebus:\/\/([^/\s]+)\/([^/\s]+)(?:\/([^/\s]+))?$/;
const CONNECTION_STRING = "SERVICEBUS_CONNECTION_STRING";

/**
 * Opens the queue that `servicebus://<namespace>/<queue>` names, or the subscription that
 * `servicebus://<namespace>/<topic>/<subscription>` does. The namespace may be short: `orders` is
 * `orders.servicebus.windows.net`. How to get in is told by the options (`client.credential`, `client.connectionString`,
 * `clients`), or by the connection string in the environment variable `SERVICEBUS_CONNECTION_STRING`; then the namespace
 * is that of the string. Options as {@link openServicebusQueue}, without the names. Errors likewise.
 */
export async function openQueue(url: string, options: Unnamed = {}): Promise<QueueDriver> {
  const [, namespace, name, subscription] = URL_FORM.exec(url) ?? [];
  if (namespace === undefined || name === undefined) {
    throw invalid(
      "url",
      'servicebus://<namespace>/<queue>, or …/<topic>/<subscription>, such as "servicebus://shop/orders"',
      url,
    );
  }
  const entity = subscription === undefined ? { queue: name } : { topic: name, subscription };
  return openServicebusQueue({ ...options, ...wayIn(options, namespace), ...entity });
}

/**
 * Opens a queue, or a subscription, and asks it whether it has sessions and how large a message may be; with `administration`
 * also how long it locks, and how often it delivers. Throws `InvalidArgument` (options), `NotFound` (no such entity),
 * `PermissionDenied`, `Unavailable`.
 */
export async function openServicebusQueue(options: OpenServicebusQueueOptions): Promise<QueueDriver> {
  const names = namesOf(options);
  const { administration, logger = silentLogger, ...others } = options;
  const asking = connectClients(options);
  try {
    const read = administration && (await readSettings(administration, names));
    if (read !== undefined) warnOfFew(logger, names.queue, read.maxDeliveryCount);
    const [sessions, maxMessageBytes] = await bothOf(
      options.sessions ?? read?.sessions ?? hasSessions(asking, names),
      options.maxMessageBytes ?? largestMessage(asking, names),
    );
    const lockMs = options.lockMs ?? read?.lockMs;
    const settings = { sessions, maxMessageBytes, ...(lockMs !== undefined && { lockMs }) };
    return createServicebusQueue({ ...others, logger, ...settings });
  } finally {
    await asking.release();
  }
}

/** Side by side; where both fail, it is the first that is told, whichever failed sooner. */
async function bothOf<A, B>(first: A | Promise<A>, second: B | Promise<B>): Promise<readonly [A, B]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}

/** An entity with sessions gives out any session, also one that nobody ever named; one without has none. No message is touched. */
async function hasSessions({ poll, control }: ConnectedClients, names: EntityNames): Promise<boolean> {
  const doing = `asking ${names.queue} for a session`;
  try {
    const session = await linksOf(poll, names).accept(`leasehold.${randomUUID()}`);
    await session.close();
    return true;
  } catch (thrown) {
    const error = fromServicebus(thrown, doing);
    if (error.code === "PermissionDenied") {
      const hint = "a program that may only send has to be told whether there are sessions: give sessions";
      throw new LeaseholdError(error.code, `${error.message}; ${hint}`, { cause: error });
    }
    // The SDK has the same words for a session that another holds, an entity without sessions, and one that is not there.
    if (error.code !== "LeaseHeld" && error.code !== "InvalidArgument") throw error;
  }
  try {
    await linksOf(control, names).receiver().renewMessageLock(byToken(NO_TOKEN));
  } catch (thrown) {
    const error = fromServicebus(thrown, doing);
    if (error.code !== "LeaseLost") throw error;
  }
  return false;
}

/** The link of a sender says it. */
async function largestMessage({ control }: ConnectedClients, names: EntityNames): Promise<number> {
  const sender = linksOf(control, names).sender();
  try {
    return (await sender.createMessageBatch()).maxSizeInBytes;
  } catch (error) {
    throw fromServicebus(error, `asking ${names.target} for its largest message`);
  } finally {
    await sender.close();
  }
}

function warnOfFew(logger: Logger, queue: string, maxDeliveryCount: number): void {
  if (maxDeliveryCount >= FEW_DELIVERIES) return;
  logger.warn(
    `MaxDeliveryCount is below ${FEW_DELIVERIES}: Service Bus will take away messages of tasks that are alive; leasehold counts attempts itself, so set it to ${FEW_DELIVERIES} or more`,
    { queue, maxDeliveryCount },
  );
}

function wayIn({ client, clients }: Unnamed, namespace: string): Pick<Unnamed, "client" | "clients"> {
  if (clients !== undefined || client?.connectionString !== undefined) return {};
  const host = namespace.includes(".") || namespace.includes(":") ? namespace : `${namespace}.servicebus.windows.net`;
  if (client?.credential !== undefined) return { client: { ...client, namespace: host } };
  const connectionString = process.env[CONNECTION_STRING];
  if (connectionString !== undefined) return { client: { ...client, connectionString } };
  throw new LeaseholdError(
    "InvalidArgument",
    `client: expected a credential of Entra ID or a connectionString; or set ${CONNECTION_STRING} in the environment`,
  );
}
