import type { Divergence } from "./divergence.ts";

const API = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference";
const GUIDE = "https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide";
const QUEUES = ["sqs", "sqs/fifo"];

/** Where moto 5.2.5 is not like SQS and DynamoDB. */
export const motoDivergences: readonly Divergence[] = [
  {
    case: "a complete by a former holder never makes the new holder's calls fail",
    targets: QUEUES,
    does: "removes the message by a handle that has run out, although another receive holds it, and then knows no handle of it",
    service: "takes the request and may or may not remove the message; a handle of a removed message stays well formed",
    source: `${API}/API_DeleteMessage.html`,
    shows: /ReceiptHandleIsInvalid/,
  },
  {
    case: "the same delivery twice in one batch has two outcomes and one effect",
    targets: QUEUES,
    does: "refuses a whole batch in which one handle stands twice, as if the ids of its entries were not distinct",
    service: "asks for distinct ids of entries only, and answers a repeated delete as the first",
    source: `${API}/API_DeleteMessageBatch.html`,
    shows: /BatchEntryIdsNotDistinct/,
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
    case: "a waiting receive is woken when the head of a key is completed",
    targets: ["sqs/fifo"],
    does: "looks for messages when a poll begins, and does not wake it when a group becomes free",
    service: "delivers the next message of a group once the one before it is deleted",
    source: `${GUIDE}/FIFO-queues-understanding-logic.html`,
    shows: /undefined/,
  },
  {
    case: "a head that is given back while later ones of its key are out comes first again",
    targets: ["sqs/fifo"],
    does: "holds a message back for as long as later ones of its group are out",
    service: "delivers it again at once, and opens its group",
    source: `${GUIDE}/sqs-visibility-timeout.html`,
    shows: /expected 1 deliveries, got 0/,
  },
  {
    case: "a comparison with a missing field or another type is false in every direction",
    targets: ["dynamodb"],
    does: "fails with 500 at the comparison of a number with text",
    service: "holds no comparison between values of different types",
    source: "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html",
    shows: /is not valid JSON/,
  },
];
