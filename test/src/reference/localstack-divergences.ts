import type { Divergence } from "./divergence.ts";

const API = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference";
const GUIDE = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide";
const QUEUES = ["sqs", "sqs/fifo"];

/** Where LocalStack 4.14.0 is not like SQS. */
export const localstackDivergences: readonly Divergence[] = [
  {
    case: "a malformed token fails with its own code, whatever the verb, and changes nothing",
    targets: QUEUES,
    does: "reads a handle with something after its end as if it ended there, for some lengths of handles",
    service: "refuses it with ReceiptHandleIsInvalid",
    source: `${API}/API_DeleteMessage.html`,
    shows: /InvalidArgument/,
    sometimes: true,
  },
  {
    case: "closing a client ends its wait and no other one",
    targets: QUEUES,
    does: "goes on with a long poll whose caller is gone, and may lease it the next message",
    service: "ends the poll with its connection, as far as has been seen",
    source: `${GUIDE}/sqs-short-and-long-polling.html`,
    shows: /0 !== 1/,
    sometimes: true,
  },
  {
    case: "messages of one receive have leases of their own",
    targets: ["sqs/fifo"],
    does: "holds back messages whose visibility timeout has ended, of any group, while one received before them is hidden",
    service: "makes a group wait for its own messages only",
    source: `${GUIDE}/FIFO-queues-understanding-logic.html`,
    shows: /"id":"b"/,
  },
];
