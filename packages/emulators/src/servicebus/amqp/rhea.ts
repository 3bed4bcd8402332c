/**
 * As much of rhea 3 as is used here. Its own types leave out what a server needs (accepting a socket, holding back an
 * attach, windows), and describe events as bags of optional parts.
 */
import type { Socket } from "node:net";
import rhea from "rhea";

/** A value with its AMQP type. */
export interface Typed {
  readonly type: { readonly typecode: number };
  value: unknown;
  descriptor?: Typed;
}

export interface AmqpError {
  readonly condition: string;
  readonly description: string;
}

/** A frame as it came, with fields that can be set anew. */
export interface Frame {
  readonly performative: {
    message_format?: number | null;
    /** Of a disposition: whether the peer is the receiver of what it is about. */
    readonly role?: boolean;
    first?: number;
    last?: number | null;
    state?: Typed;
  };
}

/** A message on its way, to the peer or from it. */
export interface Delivery {
  readonly id: number;
  readonly tag: Buffer;
  readonly link: AmqpLink;
  readonly remote_state: unknown;
  remote_settled: boolean;
  settled: boolean;
  update(settled: boolean, state: Typed): void;
}

export interface EventContext {
  readonly delivery: Delivery;
  /** The bytes of a message as they came: see `keepBytes`. */
  readonly message: Buffer;
  readonly format?: number | null;
}

/** Those that are not settled by both sides, in their order. */
export interface Deliveries {
  readonly size: number;
  get_head(): Delivery | undefined;
}

/** A session of AMQP, which has nothing to do with those of Service Bus. */
export interface AmqpSession {
  readonly incoming: {
    readonly deliveries: Deliveries;
    on_transfer(frame: Frame, link: AmqpLink): void;
  };
  readonly outgoing: {
    readonly deliveries: Deliveries;
    readonly next_delivery_id: number;
    readonly next_pending_delivery: number;
    available(): number;
    transfer_window(): number;
  };
  /** Writes a frame at once. */
  output(performative: object): void;
  on_flow(frame: Frame): void;
  on_disposition(frame: Frame): void;
}

export interface Terminus {
  readonly address?: string | null;
  readonly filter?: Readonly<Record<string, unknown>> | null;
}

type LinkEvent =
  | "message"
  | "accepted"
  | "rejected"
  | "modified"
  | "released"
  | "sender_flow"
  | "sender_close"
  | "sender_error"
  | "receiver_close"
  | "receiver_error";

export interface AmqpLink {
  readonly name: string;
  readonly session: AmqpSession;
  readonly connection: AmqpConnection;
  /** What the peer attached with. */
  readonly source: Terminus | null;
  readonly target: Terminus | null;
  readonly properties: Readonly<Record<string, unknown>> | null | undefined;
  readonly snd_settle_mode: number;
  readonly rcv_settle_mode: number;
  readonly state: { local_open: boolean; open_requests: number };
  readonly local: {
    readonly attach: {
      snd_settle_mode: number;
      rcv_settle_mode: number;
      max_message_size: number;
      properties: Readonly<Record<string, unknown>>;
    };
  };
  set_source(fields: object): void;
  set_target(fields: object): void;
  open(): void;
  close(error?: AmqpError): void;
  is_open(): boolean;
  is_remote_open(): boolean;
  is_receiver(): boolean;
  on(event: LinkEvent, listener: (context: EventContext) => void): void;
}

/** We send on it: the peer is a receiver. */
export interface SendingLink extends AmqpLink {
  delivery_count: number;
  credit: number;
  issue_flow: boolean;
  _draining: boolean;
  _get_drain(): boolean;
  send(message: object | Buffer, tag?: Buffer, format?: number): Delivery;
}

export interface AmqpConnection {
  /** Of a frame that has not come in whole. */
  readonly frame_size?: number | undefined;
  accept(socket: Socket): void;
  eof(): void;
  _register(): void;
  on(event: "session_open" | "session_close", listener: (context: { readonly session: AmqpSession }) => void): void;
  on(event: "sender_open", listener: (context: { readonly sender: SendingLink }) => void): void;
  on(event: "receiver_open", listener: (context: { readonly receiver: AmqpLink }) => void): void;
  on(event: "disconnected" | "connection_close" | "connection_error" | "session_error", listener: () => void): void;
  on(event: "protocol_error" | "error", listener: (error: unknown) => void): void;
}

interface Reader {
  readonly buffer: Buffer;
  position: number;
  read(): Typed;
  read_array_items(count: number, type: object): unknown[];
}

interface Writer {
  write(value: Typed): void;
  write_bytes(bytes: Buffer): void;
  toBuffer(): Buffer;
}

interface Types {
  Reader: { new (buffer: Buffer): Reader; readonly prototype: Reader };
  Writer: new () => Writer;
  Long(value: number | Buffer): Typed;
  wrap(value: unknown): Typed;
  unwrap(value: unknown): unknown;
  wrap_array(values: readonly unknown[], typecode: number): Typed;
  wrap_binary(value: Buffer): Typed;
  wrap_boolean(value: boolean): Typed;
  wrap_int(value: number): Typed;
  wrap_list(values: readonly Typed[]): Typed;
  wrap_string(value: string): Typed;
  wrap_symbol(value: string): Typed;
  wrap_timestamp(value: number): Typed;
  wrap_ubyte(value: number): Typed;
  wrap_uint(value: number): Typed;
  wrap_ulong(value: number): Typed;
  wrap_uuid(value: Buffer): Typed;
  described_nc(descriptor: Typed, value: Typed): Typed;
  define_composite(definition: object): { create(fields: object): object };
}

/** A decoded request. */
export interface RequestMessage {
  readonly message_id?: unknown;
  readonly reply_to?: unknown;
  readonly application_properties?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

interface Outcomes {
  accepted(): { described(): Typed };
  released(): { described(): Typed };
  modified(fields: { readonly undeliverable_here: boolean }): { described(): Typed };
  rejected(fields: { readonly error?: AmqpError & { readonly info: null } }): { described(): Typed };
  decode(bytes: Buffer): RequestMessage;
}

export interface SaslMechanisms {
  enable_anonymous(): void;
  enable_plain(check: () => boolean): void;
  [mechanism: string]: unknown;
}

interface Container {
  readonly sasl_server_mechanisms: SaslMechanisms;
  create_connection(options: object): AmqpConnection;
}

const library = rhea as unknown as {
  readonly types: Types;
  readonly message: Outcomes;
  create_container(options: object): Container;
};

export const { types, message: messages } = library;

/** Codes of what an array holds. */
export const TYPE_LONG = 0x81;
export const TYPE_TIMESTAMP = 0x83;

/** A frame that rhea writes by itself too, and keeps to itself. */
const disposition = types.define_composite({
  name: "disposition",
  code: 0x15,
  fields: [
    { name: "role", type: "boolean", mandatory: true },
    { name: "first", type: "uint", mandatory: true },
    { name: "last", type: "uint" },
    { name: "settled", type: "boolean", default_value: false },
    { name: "state", type: "*" },
  ],
});

/** Says how one delivery ended, in a frame of its own. */
export function writeDisposition({ link, id }: Delivery, state: Typed): void {
  const fields = { role: link.is_receiver(), first: id, last: id, settled: true, state };
  link.session.output(disposition.create(fields));
}

/** rhea reads a boolean that is written in two bytes, as Python's SDK does, as a number. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1;
}

let isGuarded = false;

/**
 * Keeps an array to as many items as its frame has bytes. rhea believes a count of four billion items that have no bytes of
 * their own, or whose bytes it does not look at, until the memory is used up; all else that is too long it finds out itself.
 */
function guardArrays(): void {
  if (isGuarded) return;
  isGuarded = true;
  const reader = types.Reader.prototype;
  const readItems = reader.read_array_items;
  reader.read_array_items = function (count, type) {
    if (count > this.buffer.length) throw new RangeError(`An array of ${count} items in ${this.buffer.length} bytes.`);
    return readItems.call(this, count, type);
  };
}

export function createContainer(options: object): Container {
  guardArrays();
  return library.create_container(options);
}
