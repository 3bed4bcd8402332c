import { ServicebusError } from "../errors.ts";
import { pathOf } from "./address.ts";
import type { Peer } from "./peer.ts";
import { attachRequests, type Request } from "./requests.ts";
import { type AmqpLink, types } from "./rhea.ts";

export const CBS_NODE = "$cbs";
const ACCEPTED = 202;

/** Claims-based security: a client puts a token for each path that it is about to attach to. */
export function attachCbs(peer: Peer, link: AmqpLink): void {
  attachRequests(peer, CBS_NODE, link, (request) => putToken(peer, request));
}

function putToken({ connection, server, tokens }: Peer, { operation, properties, body, answer }: Request): void {
  const path = pathOf(String(properties["name"] ?? ""));
  const say = (status: number, description: string): void =>
    answer({ "status-code": types.wrap_int(status), "status-description": description });
  server.gate.pass(
    connection,
    { operation: "PutToken", input: { entity: path, type: properties["type"] }, entries: 1 },
    {
      apply(answered) {
        if (operation !== "put-token") {
          throw new ServicebusError("amqp:not-implemented", `There is no operation ${JSON.stringify(operation)} here.`);
        }
        tokens.put(path, body);
        answered(() => say(ACCEPTED, "Accepted"));
      },
      refuse: ({ condition, status, message }) =>
        answer({
          "status-code": types.wrap_int(status),
          "status-description": message,
          "error-condition": types.wrap_symbol(condition),
        }),
    },
  );
}
