import { randomBytes } from "node:crypto";
import type { Message } from "../broker/message.ts";
import type { Queue } from "../broker/queue.ts";
import type { SessionHold } from "../broker/session-locks.ts";
import { messageLockLost, type ServicebusError } from "../errors.ts";
import { createCredit } from "./credit.ts";
import { createGrants } from "./grants.ts";
import { tagOfToken, tokenOfTag } from "./guid.ts";
import { joinMessage } from "./join.ts";
import { confirmSettlement, outcomeOf, plainProperties, rejectDelivery, SETTLEMENT_CALLS } from "./outcomes.ts";
import { type Peer, whenOver } from "./peer.ts";
import type { Delivery, SendingLink } from "./rhea.ts";

/** The settle mode in which a sender forgets a message once it is sent: receive-and-delete. */
const SETTLED = 1;
const TAG_BYTES = 16;
const OUTCOMES = ["accepted", "rejected", "modified", "released"] as const;

interface Prepared {
  readonly tag: Buffer;
  readonly payload: Buffer;
}

/** Sends messages of a queue on a link that is about to be open, and takes the receiver's word on what becomes of them. */
export function serveReceiver(peer: Peer, link: SendingLink, queue: Queue, hold: SessionHold | undefined): Receiving {
  const { connection, server } = peer;
  const locks = link.snd_settle_mode !== SETTLED;
  const credit = createCredit(link);
  const grants = createGrants();
  const consumption = queue.consume({
    hold,
    locks,
    capacity: () => (link.is_open() ? credit.left() : 0),
    deliver(messages) {
      send(use(messages));
    },
  });
  const open = server.links.add(connection, queue.path, link, () => {
    consumption.end();
    grants.end();
    hold?.release();
  });

  /** Ready to be sent: the locks of now are what the receiver gets, whenever it gets them. */
  function use(messages: readonly Message[]): readonly Prepared[] {
    credit.use(messages.length);
    return messages.map((message) => {
      const { lock } = message;
      if (lock === undefined) return { tag: randomBytes(TAG_BYTES), payload: joinMessage(message, undefined) };
      return {
        tag: tagOfToken(lock.token),
        payload: joinMessage(message, message.session?.lockedUntil ?? message.dueAt),
      };
    });
  }

  function send(prepared: readonly Prepared[]): void {
    if (prepared.length > 0) open.touch();
    for (const { tag, payload } of prepared) link.send(payload, tag, 0);
    grants.use(prepared.length);
  }

  /** Says that there is nothing more, once all is sent that was granted before (deliver first, then echo). */
  function echoDrain(): void {
    if (!link._draining || !grants.areAnswered()) return;
    credit.drain();
    grants.end();
    link.issue_flow = true;
    connection.amqp._register();
  }

  function onFlow(): void {
    open.touch();
    const added = credit.granted();
    if (added === 0) {
      echoDrain();
      return;
    }
    const grant = grants.begin(added);
    const input = { entity: queue.path, credit: added, link: link.name, sessionId: hold?.session.id };
    server.gate.pass(
      connection,
      { operation: "Receive", input, entries: 1 },
      {
        apply(answer) {
          credit.admit(added);
          const prepared = use(consumption.take(credit.left()));
          answer(() => {
            send(prepared);
            grant.answered();
            if (credit.left() > 0) consumption.wait();
            echoDrain();
          });
        },
        refuse: open.detach,
        open: grant.open,
      },
    );
  }

  function settle(event: (typeof OUTCOMES)[number], delivery: Delivery): void {
    open.touch();
    const token = tokenOfTag(delivery.tag);
    const outcome = outcomeOf(event, delivery.remote_state);
    const properties = plainProperties("properties" in outcome ? outcome.properties : undefined);
    const input = { entity: queue.path, lockToken: token, properties };
    server.gate.pass(
      connection,
      { operation: SETTLEMENT_CALLS[outcome.kind], input, entries: 1 },
      {
        apply(answer) {
          if (token === undefined) throw messageLockLost();
          queue.settlement.settle(token, outcome);
          answer(() => confirmSettlement(delivery, outcome));
        },
        refuse: (error) => rejectDelivery(delivery, error),
      },
    );
  }

  // rhea echoes a drain only while credit is left; the last of it may have been used while the drain was under way.
  link._get_drain = () => {
    if (!link._draining) return false;
    link.delivery_count += link.credit;
    link.credit = 0;
    return true;
  };
  for (const event of OUTCOMES) link.on(event, ({ delivery }) => settle(event, delivery));
  link.on("sender_flow", onFlow);
  whenOver(peer, link, open.end, () => {
    if (credit.left() > 0 && grants.areAnswered()) consumption.wait();
  });
  return { start: onFlow, detach: open.detach };
}

export interface Receiving {
  /** The link is open: credit that came with the attach counts. */
  start(): void;
  detach(error: ServicebusError): void;
}
