import { acceptDelivery } from "./outcomes.ts";
import { accept, type Peer, whenOver } from "./peer.ts";
import { type AmqpLink, messages, type RequestMessage, type SendingLink, type Typed } from "./rhea.ts";
import { propertiesIn, SECTION, sectionsOf } from "./sections.ts";

/** A request, and how it is answered. */
export interface Request {
  /** `put-token`, `com.microsoft:renew-lock`. */
  readonly operation: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** The fields of a body that is a map, each with its type. */
  readonly typedFields: Readonly<Record<string, Typed>>;
  answer(properties: Readonly<Record<string, unknown>>, body?: unknown): void;
}

/** A client sends requests to a node: `$cbs`, or the `$management` of an entity. */
export function attachRequests(peer: Peer, node: string, link: AmqpLink, handle: (request: Request) => void): void {
  link.on("message", ({ message: bytes, delivery }) => {
    // What the node makes of it is in the answer.
    acceptDelivery(delivery);
    const message = decode(bytes);
    const properties = message.application_properties ?? {};
    handle({
      operation: String(properties["operation"] ?? ""),
      properties,
      body: message.body,
      typedFields: message.typedFields,
      answer(answered, body = {}) {
        const to = replyLink(peer, node, link, message.reply_to);
        to?.send({ correlation_id: message.message_id, to: message.reply_to, application_properties: answered, body });
      },
    });
  });
  accept(link);
}

/** A client wants to receive the answers of a node. */
export function attachReplies(peer: Peer, node: string, link: SendingLink): void {
  const links = peer.replies.get(node) ?? new Set();
  peer.replies.set(node, links.add(link));
  whenOver(peer, link, () => links.delete(link));
  accept(link);
}

/**
 * The name of the link comes first: on `$cbs` the target of JavaScript's SDK has no address. Python's says nothing of where
 * to reply, and means the link beside the one of the request. None to a client that never takes its answers.
 */
function replyLink({ replies }: Peer, node: string, asked: AmqpLink, replyTo: unknown): SendingLink | undefined {
  const links = [...(replies.get(node) ?? [])].filter(isReady);
  if (replyTo === undefined || replyTo === null)
    return links.find(({ session }) => session === asked.session) ?? links[0];
  return links.find(({ name }) => name === replyTo) ?? links.find(({ target }) => target?.address === replyTo);
}

function isReady(link: SendingLink): boolean {
  return link.is_open() && link.session.outgoing.available() > 0;
}

/** A request that cannot be read has nobody to be answered to but the one that asks: it is answered as one without content. */
function decode(bytes: Buffer): RequestMessage & Pick<Request, "typedFields"> {
  try {
    const body = sectionsOf(bytes).find(({ code }) => code === SECTION.value)?.value;
    return { ...messages.decode(bytes), typedFields: propertiesIn(body) };
  } catch {
    return { typedFields: {} };
  }
}
