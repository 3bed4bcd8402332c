import type { Difference } from "../suite/differences.ts";

/** What the emulator leaves out of the service; each of these was seen with its version 0.8.20. */
const LIMITATIONS = "https://cloud.google.com/pubsub/docs/emulator#known_limitations";
const ORDER = "https://cloud.google.com/pubsub/docs/ordering";

export const differences: Readonly<Record<string, Difference>> = {
  "a malformed token fails with its own code, whatever the verb, and changes nothing": {
    reason: "its ack ids are counted, so that one which was cut short is another one's and taken",
    link: LIMITATIONS,
  },
  "closing a client ends its wait and no other one": {
    reason:
      "it hands messages to a pull whose caller has gone, and they come again at the subscription's deadline only",
    link: LIMITATIONS,
  },
};

/** Where it is to keep order, beside those. */
export const orderDifferences: Readonly<Record<string, Difference>> = {
  "a batch given back, last first, comes again in order": {
    reason: "it delivers again in the order in which messages were given back, not in that of their key",
    link: ORDER,
  },
  "a head that is given back while later ones of its key are out comes first again": {
    reason: "it holds a message back for as long as later ones of its key are out",
    link: ORDER,
  },
  "messages of one receive have leases of their own": {
    reason:
      "where it keeps order, messages without a key are of one key to it: one that lapses waits for those before it",
    link: ORDER,
  },
  "one bad entry of a batch fails alone": {
    reason: "where it keeps order, it takes any text for an ack id",
    link: LIMITATIONS,
  },
  "a message delivered as often as the broker allows becomes a dead letter without a fence": {
    reason: "where it keeps order, it fails at forwarding a message without a key, and answers UNKNOWN from then on",
    link: LIMITATIONS,
  },
};
