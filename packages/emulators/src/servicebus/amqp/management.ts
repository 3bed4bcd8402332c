import type { Inbox } from "../broker/inbox.ts";
import type { Entity } from "../broker/namespace.ts";
import type { SessionHold } from "../broker/session-locks.ts";
import { notAllowed, ServicebusError, sessionLockLost } from "../errors.ts";
import { fieldsOf, isMap } from "./fields.ts";
import { dispositionOf, messageOperations } from "./operations/messages.ts";
import type { Operation } from "./operations/operation.ts";
import { sessionOperations } from "./operations/sessions.ts";
import { SETTLEMENT_CALLS } from "./outcomes.ts";
import { type Peer, whenOver } from "./peer.ts";
import { attachRequests, type Request } from "./requests.ts";
import { type AmqpLink, types } from "./rhea.ts";

const PREFIX = "com.microsoft:";
const TRACKING_ID = "com.microsoft:tracking-id";
const ASSOCIATED_LINK = "associated-link-name";
const OK = 200;
const NO_CONTENT = 204;

const OPERATIONS: Readonly<Record<string, Operation>> = { ...messageOperations, ...sessionOperations };
/** What a topic can be asked, which has messages only until they are enqueued. */
const OF_TOPICS = ["schedule-message", "cancel-scheduled-message"];
/** Fields that say how many messages a request is about. */
const BATCHES = ["messages", "lock-tokens", "sequence-numbers"];

/** `$management` of an entity: what is asked by request and answer. */
export function attachManagement(peer: Peer, path: string, node: string, link: AmqpLink): void {
  const opened = peer.server.links.add(peer.connection, node, link, () => {});
  whenOver(peer, link, opened.end);
  attachRequests(peer, node, link, (request) => {
    opened.touch();
    handle(peer, path, request);
  });
}

function handle(peer: Peer, path: string, request: Request): void {
  const { properties, body, answer } = request;
  const name = request.operation.startsWith(PREFIX) ? request.operation.slice(PREFIX.length) : "";
  const say = (status: number, description: string, more: object = {}, reply?: object): void => {
    const tracking = properties[TRACKING_ID] === undefined ? {} : { [TRACKING_ID]: properties[TRACKING_ID] };
    answer({ ...tracking, statusCode: types.wrap_int(status), statusDescription: description, ...more }, reply);
  };
  const input = { ...(isMap(body) ? body : {}), entity: path };
  peer.server.gate.pass(
    peer.connection,
    { operation: callOf(name, input), input, entries: entriesOf(input) },
    {
      apply(answered) {
        const reply = run(peer, path, name, request);
        answered(() => (reply === undefined ? say(NO_CONTENT, "NoContent") : say(OK, "OK", {}, reply)));
      },
      refuse: ({ status, message, condition }) =>
        say(status, message, { errorCondition: types.wrap_symbol(condition) }),
    },
  );
}

function run(peer: Peer, path: string, name: string, { properties, body, typedFields }: Request): object | undefined {
  // Whoever has a token for the node alone may ask it: that is the audience for which the SDKs put one.
  peer.tokens.check(`${path}/$management`);
  const operation = Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (operation === undefined) {
    throw new ServicebusError("amqp:not-implemented", `There is no operation ${JSON.stringify(name)} here.`);
  }
  const entity = peer.server.namespace.find(path);
  if (entity.kind === "topic" && !OF_TOPICS.includes(name)) throw notAllowed(`A topic cannot be asked to ${name}.`);
  return operation({
    fields: fieldsOf(body, typedFields),
    inbox: inboxOf(entity),
    queue: entity.kind === "topic" ? undefined : entity.queue,
    hold: (sessionId) => holdOf(peer, path, sessionId, properties[ASSOCIATED_LINK]),
  });
}

function inboxOf(entity: Entity): Inbox | undefined {
  if (entity.kind === "topic") return entity.topic.inbox;
  return entity.kind === "queue" ? entity.queue.inbox : undefined;
}

/** Of this connection's own sessions alone, so that nobody works under a lock that another one has. */
function holdOf({ holds }: Peer, path: string, sessionId: string, linkName: unknown): SessionHold {
  const isMeant = (held: { readonly path: string; readonly hold: SessionHold } | undefined): boolean =>
    held !== undefined && held.path.toLowerCase() === path.toLowerCase() && held.hold.session.id === sessionId;
  const associated = typeof linkName === "string" ? [holds.get(linkName)] : [...holds.values()];
  const found = associated.find(isMeant);
  if (found === undefined) throw sessionLockLost();
  return found.hold;
}

/** The name under which it is counted: `RenewLock`; of a settlement what it is by disposition too. */
function callOf(name: string, input: Readonly<Record<string, unknown>>): string {
  const kind = name === "update-disposition" ? dispositionOf(input["disposition-status"]) : undefined;
  if (kind !== undefined) return SETTLEMENT_CALLS[kind];
  return name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function entriesOf(input: Readonly<Record<string, unknown>>): number {
  for (const field of BATCHES) {
    const list = input[field];
    if (Array.isArray(list)) return Math.max(1, list.length);
  }
  return 1;
}
