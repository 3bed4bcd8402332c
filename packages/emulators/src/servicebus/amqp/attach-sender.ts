import type { Inbox } from "../broker/inbox.ts";
import type { Content } from "../broker/message.ts";
import { notAllowed, ServicebusError } from "../errors.ts";
import { pathOf } from "./address.ts";
import { acceptDelivery, rejectDelivery } from "./outcomes.ts";
import { accept, type Peer, refuse, whenOver } from "./peer.ts";
import type { AmqpLink, EventContext } from "./rhea.ts";
import { decodeError } from "./sections.ts";
import { splitTransfer } from "./split.ts";

/** A client wants to send to an entity. */
export function attachSender(peer: Peer, link: AmqpLink): void {
  const { connection, server, tokens } = peer;
  const entity = pathOf(link.target?.address ?? "");

  function open(inbox: Inbox): void {
    if (!link.is_remote_open()) return;
    const opened = server.links.add(connection, entity, link, () => {});
    whenOver(peer, link, opened.end);
    link.on("message", (context) => {
      opened.touch();
      send(inbox, context);
    });
    link.local.attach.max_message_size = inbox.maxMessageBytes;
    accept(link);
  }

  function send(inbox: Inbox, { message, format, delivery }: EventContext): void {
    const read = reading(message, format);
    const input = { entity, messageIds: read.contents.map(({ id }) => id) };
    server.gate.pass(
      connection,
      { operation: "Send", input, entries: Math.max(1, read.contents.length) },
      {
        apply(answer) {
          if (read.error !== undefined) throw read.error;
          if (message.length > inbox.maxMessageBytes) {
            const size = `It has ${message.length} bytes; the limit is ${inbox.maxMessageBytes}.`;
            throw new ServicebusError("amqp:link:message-size-exceeded", `The message is too large. ${size}`);
          }
          inbox.send(read.contents);
          answer(() => acceptDelivery(delivery));
        },
        refuse: (error) => rejectDelivery(delivery, error),
      },
    );
  }

  server.gate.pass(
    connection,
    { operation: "Attach", input: { entity, role: "sender", link: link.name }, entries: 1 },
    {
      apply(answer) {
        tokens.check(entity);
        const found = server.namespace.find(entity);
        if (found.kind === "queue") answer(() => open(found.queue.inbox));
        else if (found.kind === "topic") answer(() => open(found.topic.inbox));
        else throw notAllowed(`Nothing can be sent to ${entity}.`);
      },
      refuse: (error) => refuse(link, error),
    },
  );
}

interface Reading {
  readonly contents: readonly Content[];
  readonly error?: ServicebusError;
}

/** Read before the call is counted, which wants to know how many messages there are. */
function reading(message: Buffer | undefined, format: number | null | undefined): Reading {
  try {
    if (message === undefined) throw decodeError("There is no message in the transfer.");
    return { contents: splitTransfer(message, format) };
  } catch (error) {
    if (error instanceof ServicebusError) return { contents: [], error };
    throw error;
  }
}
