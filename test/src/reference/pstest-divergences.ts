import type { Divergence } from "./divergence.ts";

const RPC = "https://cloud.google.com/pubsub/docs/reference/rpc/google.pubsub.v1";
const KINDS = ["pubsub", "pubsub/ordered"];
const SHORT_PULL = "ends every pull after half a second, whatever time its caller gives it";
const LONG_PULL = "waits until there is a message, or the caller's time is nearly over";
const TOKENS = "takes ack ids that it never made without a word";
const REFUSED = "refuses ack ids that it never made";

/** Where pstest of cloud.google.com/go/pubsub/v2 2.9.0 is not like Pub/Sub. */
export const pstestDivergences: readonly Divergence[] = [
  {
    case: "a body at the limit is taken, one byte more is refused",
    targets: KINDS,
    does: "takes requests of 4 MiB at most, which is gRPC's own default",
    service: "takes requests of 10 MB",
    source: "https://cloud.google.com/pubsub/quotas#resource_limits",
    shows: /received message larger than max/,
  },
  {
    case: "a waiting receive is woken by a send",
    targets: KINDS,
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /undefined/,
    sometimes: true,
  },
  {
    case: "a waiting receive is woken when a lease lapses",
    targets: KINDS,
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /the lease has not lapsed/,
  },
  {
    case: "a waiting receive is woken when a message is given back, and when its delay ends",
    targets: KINDS,
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /undefined/,
  },
  {
    case: "one message goes to one of those who wait",
    targets: KINDS,
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /!== [123]/,
  },
  {
    case: "a message that arrives as the wait is aborted is handed out or comes back",
    targets: KINDS,
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /expected 1 deliveries, got 0/,
    sometimes: true,
  },
  {
    case: "closing a client ends its wait and no other one",
    targets: KINDS,
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /true|0 !== 1/,
  },
  {
    case: "an abandon with a delay hides the message until the delay has passed, where that is declared",
    targets: KINDS,
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /expected 1 deliveries, got 0/,
  },
  {
    case: "a key is held back while its head is held back by a delay",
    targets: ["pubsub/ordered"],
    does: SHORT_PULL,
    service: LONG_PULL,
    source: `${RPC}#pullrequest`,
    shows: /expected 1 deliveries, got 0/,
  },
  {
    case: "one bad entry of a batch fails alone",
    targets: KINDS,
    does: TOKENS,
    service: REFUSED,
    source: `${RPC}#acknowledgerequest`,
    shows: /false/,
  },
  {
    case: "a malformed token fails with its own code, whatever the verb, and changes nothing",
    targets: KINDS,
    does: TOKENS,
    service: REFUSED,
    source: `${RPC}#acknowledgerequest`,
    shows: /InvalidArgument/,
  },
];
