/** An AMQP client that does nothing by itself, for what the vendor's client cannot say or does not show. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { TestContext } from "node:test";
import rhea, {
  type AmqpError,
  type Connection,
  type Delivery,
  type EventContext,
  type Message,
  type Receiver,
  type ReceiverOptions,
  type Sender,
  type SenderOptions,
  type Source,
} from "rhea";
import type { ServicebusEmulator } from "../servicebus/start.ts";
import { until } from "./until.ts";

const TYPE_LONG = 0x81;
const TYPE_UUID = 0x98;
const OUTCOMES: Readonly<Record<number, string>> = { 36: "accepted", 37: "rejected", 38: "released", 39: "modified" };

export interface AmqpClient {
  readonly connection: Connection;
  /** Resolves once the connection is closed, or lost. */
  readonly ended: Promise<void>;
  /** Sends a token, as is needed before anything else. `keyName`: who it is of. Answers the reply. */
  putToken(audience: string, keyName?: string): Promise<Reply>;
  sender(address: string, options?: SenderOptions): Promise<AmqpSender>;
  /** Without credit. Peek-lock unless the options say otherwise. */
  receiver(source: string | Source, options?: ReceiverOptions): Promise<AmqpReceiver>;
  /** What an attach is refused with. */
  refusal(source: string | Source, options?: ReceiverOptions): Promise<AmqpError>;
  /** The same for a sender. */
  senderRefusal(address: string): Promise<AmqpError>;
  /** A request to `<entity>/$management`. */
  request(entity: string, operation: string, body: unknown, more?: Readonly<Record<string, unknown>>): Promise<Reply>;
  /** `com.microsoft:renew-lock` of one lock token, written as text. */
  renewLock(entity: string, lockToken: string): Promise<Reply>;
}

export interface Reply {
  readonly message: Message;
  /** `statusCode`, `statusDescription`, `errorCondition` of $management; `status-code` of $cbs. */
  readonly properties: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: what a reply holds is what the checks are about.
  readonly body: any;
}

export interface AmqpSender {
  readonly link: Sender;
  /** Resolves with the outcome: undefined for accepted, the error for rejected. */
  send(message: Message | Buffer, format?: number): Promise<AmqpError | undefined>;
}

export interface Arrival {
  readonly delivery: Delivery;
  readonly message: Message;
}

export interface AmqpReceiver {
  readonly link: Receiver;
  /** Everything that has come, in order. */
  readonly arrivals: readonly Arrival[];
  /** What the server detached the link with, once it has. */
  readonly closed: Promise<AmqpError | undefined>;
  grant(credit: number): void;
  /** Resolves with the next arrival that nobody waited for yet. */
  next(): Promise<Arrival>;
  /** Asks for what there is, up to the credit left, and resolves once the server says that no more comes. */
  drain(): Promise<void>;
  /** Says an outcome, and resolves with the one that the server settles with. */
  settle(arrival: Arrival, say: (delivery: Delivery) => void): Promise<Settled>;
}

export interface Settled {
  readonly settled: boolean;
  /** What the server says that became of it. */
  readonly outcome: string | undefined;
  readonly error: AmqpError | undefined;
}

/** A connection of its own, with a token for everything. */
export async function openAmqp(
  test: TestContext,
  servicebus: ServicebusEmulator,
  options: { readonly username?: string; readonly password?: string; readonly token?: boolean } = {},
): Promise<AmqpClient> {
  const { token = true, ...login } = options;
  const { hostname, port } = new URL(servicebus.endpoint);
  const container = rhea.create_container({ id: rhea.generate_uuid() });
  const connection = container.connect({
    host: hostname,
    port: Number(port),
    hostname,
    reconnect: false,
    username: "anybody",
    ...login,
  });
  const ended = Promise.race([once(connection, "disconnected"), once(connection, "connection_close")]).then(
    () => undefined,
  );
  connection.on("connection_error", () => undefined);
  test.after(async () => {
    if (!connection.is_open()) return;
    connection.close();
    await ended;
  });
  await once(connection, "connection_open");
  const client = createAmqpClient(connection, ended);
  if (token) {
    const { properties } = await client.putToken(servicebus.endpoint);
    assert.equal(properties["status-code"], 202);
  }
  return client;
}

function createAmqpClient(connection: Connection, ended: Promise<void>): AmqpClient {
  const desks = new Map<string, Promise<Desk>>();

  function desk(address: string, targetsReplies: boolean): Promise<Desk> {
    const known = desks.get(address) ?? openDesk(connection, address, targetsReplies);
    desks.set(address, known);
    return known;
  }

  async function request(
    entity: string,
    operation: string,
    body: unknown,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<Reply> {
    const management = await desk(`${entity}/$management`, true);
    return management.ask({
      body,
      application_properties: {
        operation: `com.microsoft:${operation}`,
        "com.microsoft:tracking-id": rhea.generate_uuid(),
        ...more,
      },
    });
  }

  return {
    connection,
    ended,
    async putToken(audience, keyName = "anybody") {
      const cbs = await desk("$cbs", false);
      return cbs.ask({
        body: `SharedAccessSignature sr=${encodeURIComponent(audience)}&sig=unchecked&se=4102444800&skn=${keyName}`,
        application_properties: { operation: "put-token", type: "servicebus.windows.net:sastoken", name: audience },
      });
    },
    async sender(address, options = {}) {
      const link = newSession(connection).open_sender({ target: { address }, ...options });
      link.on("sender_error", () => undefined);
      await once(link, "sender_open");
      return wrapSender(link);
    },
    async receiver(source, options = {}) {
      const link = openReceiver(connection, source, options);
      const wrapped = wrapReceiver(link);
      await once(link, "receiver_open");
      return wrapped;
    },
    async refusal(source, options = {}) {
      const link = openReceiver(connection, source, options);
      await once(link, "receiver_error");
      return link.error as AmqpError;
    },
    async senderRefusal(address) {
      const link = newSession(connection).open_sender({ target: { address } });
      await once(link, "sender_error");
      return link.error as AmqpError;
    },
    request,
    renewLock: (entity, lockToken) => request(entity, "renew-lock", { "lock-tokens": uuids(lockToken) }),
  };
}

/** The array of lock tokens that requests take, in the order of RFC 4122 (emulators.md 1.3). */
export function uuids(...texts: readonly string[]) {
  return rhea.types.wrap_array(texts.map(rhea.string_to_uuid), TYPE_UUID, undefined);
}

/** The array of sequence numbers that requests take. */
export function longs(...values: readonly number[]) {
  return rhea.types.wrap_array(values, TYPE_LONG, undefined);
}

function newSession(connection: Connection) {
  const session = connection.create_session();
  session.on("session_error", () => undefined);
  session.open();
  return session;
}

function openReceiver(connection: Connection, source: string | Source, options: ReceiverOptions): Receiver {
  return newSession(connection).open_receiver({
    source: typeof source === "string" ? { address: source } : source,
    credit_window: 0,
    autoaccept: false,
    snd_settle_mode: 0,
    rcv_settle_mode: 1,
    ...options,
  });
}

function wrapSender(link: Sender): AmqpSender {
  return {
    link,
    async send(message, format) {
      if (!link.sendable()) await once(link, "sendable");
      const delivery = Buffer.isBuffer(message) ? link.send(message, undefined, format) : link.send(message);
      await until(() => delivery.remote_settled);
      return delivery.remote_state?.["error"];
    },
  };
}

function wrapReceiver(link: Receiver): AmqpReceiver {
  const arrivals: Arrival[] = [];
  let taken = 0;
  link.on("message", ({ delivery, message }: EventContext) => {
    arrivals.push({ delivery: delivery as Delivery, message: message as Message });
  });
  link.on("receiver_error", () => undefined);
  return {
    link,
    arrivals,
    closed: once(link, "receiver_close").then(() => link.error as AmqpError | undefined),
    grant: (credit) => link.add_credit(credit),
    async next() {
      const index = taken++;
      await until(() => arrivals.length > index);
      return arrivals[index] as Arrival;
    },
    async drain() {
      link.drain_credit();
      await once(link, "receiver_drained");
      link.drain = false;
    },
    async settle({ delivery }, say) {
      say(delivery);
      await until(() => delivery.remote_settled);
      const state = delivery.remote_state;
      return {
        settled: delivery.remote_settled,
        outcome: OUTCOMES[state?.["described"]().descriptor.value],
        error: state?.["error"],
      };
    },
  };
}

/** A pair of links for requests and replies. */
interface Desk {
  ask(request: Readonly<Record<string, unknown>>): Promise<Reply>;
}

async function openDesk(connection: Connection, address: string, targetsReplies: boolean): Promise<Desk> {
  const session = newSession(connection);
  const name = rhea.generate_uuid();
  const sender = session.open_sender({ target: { address } });
  const receiver = session.open_receiver({
    name,
    source: { address },
    // The vendor's client leaves it out for $cbs: the reply finds its way by the name of the link (emulators.md 1.1).
    ...(targetsReplies ? { target: { address: name } } : {}),
  });
  const replies = new Map<unknown, Message>();
  receiver.on("message", ({ message }: EventContext) => {
    if (message !== undefined) replies.set(message.correlation_id, message);
  });
  await Promise.all([once(sender, "sendable"), once(receiver, "receiver_open")]);
  return {
    async ask(request) {
      const id = rhea.generate_uuid();
      sender.send({ body: undefined, ...request, message_id: id, reply_to: name });
      await until(() => replies.has(id));
      const message = replies.get(id) as Message;
      return { message, properties: message.application_properties ?? {}, body: message.body };
    },
  };
}
