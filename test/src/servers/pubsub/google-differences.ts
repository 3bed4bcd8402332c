import type { Differences } from "./run.ts";

const KEEPS_NO_LIMIT = "Google's emulator does not enforce this limit";
const COARSE = "Google's emulator gives back at once the first time, and backs off in steps of about 2 s";
const NO_FLOW_CONTROL = "Google's emulator sends what it has in one answer, whatever may be outstanding";
const HONOURS_LATE =
  "Google's emulator honours an expired ack id until the next delivery; the service does not (PS-04)";

/** Where Google's emulator (seen with 0.8.20) is not like the service. The embedded server follows the service in all of them. */
export const googleDifferences: Differences = {
  "error texts: what is missing, and what is there already, is named as the service names it":
    "Google's emulator has texts of its own for what is missing",
  "PS-03: an ack deadline under 10 s is refused": "Google's emulator accepts it, 5 s for example",
  "PS-50: more than 100 attributes are refused": KEEPS_NO_LIMIT,
  "PS-50: an attribute's name over 256 bytes is refused, and one of none": KEEPS_NO_LIMIT,
  "PS-50: an attribute's value over 1,024 bytes is refused": KEEPS_NO_LIMIT,
  "PS-50: attributes that begin with goog are refused": KEEPS_NO_LIMIT,
  "PS-50: an ordering key over 1,024 bytes is refused": KEEPS_NO_LIMIT,
  "PS-50: a message over 10 MB is refused": KEEPS_NO_LIMIT,
  "proto PullRequest: fewer than none cannot be asked for": "Google's emulator answers it with nothing",
  "proto Pull: a pull that was cancelled takes no message":
    "Google's emulator notices some time later that a caller is gone, and may lease it a message until then",
  "PS-03: more than 600 s cannot be asked for": "Google's emulator accepts any number of seconds",
  "PS-04: an ack after the deadline is refused, also before the next delivery": HONOURS_LATE,
  "PS-04: an extension after the deadline is refused, also before the next delivery": HONOURS_LATE,
  "PS-44: with one it waits for the least back-off, however it came back": COARSE,
  "PS-44: the back-off grows from time to time": COARSE,
  "PS-44: other messages do not wait for one that is held back": COARSE,
  "PS-45: a message that is given back comes again, and the later ones of its key after it":
    "Google's emulator delivers a key again only once none of its messages is out",
  "proto SubscriptionProperties: the first answer comes at once, without messages":
    "Google's emulator answers a stream with messages only",
  "PS-61: an empty request is answered when the client speaks protocol version 1, and only then":
    "Google's emulator does not answer an empty request",
  "PS-27: a stream has no more messages out than max_outstanding_messages; each settled one makes room":
    NO_FLOW_CONTROL,
  "PS-27: a stream has no more bytes out than max_outstanding_bytes, and never none at all": NO_FLOW_CONTROL,
  "PS-27: flow control is per stream, and every message goes to one stream": NO_FLOW_CONTROL,
};
