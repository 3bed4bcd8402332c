import { GetQueueAttributesCommand, StartMessageMoveTaskCommand } from "@aws-sdk/client-sqs";
import type { BrokerPort } from "../lifecycle/world.ts";
import type { AwsServers } from "./aws-servers.ts";
import { arnOf, type SqsQueue } from "./sqs-side.ts";

/** A move of dead letters has its own pace. */
const MOVE_MS = 1_000;

/** What can be done to a queue of the embedded server. */
export function brokerOf({ sqs, clients, played }: AwsServers, { queueUrl, deadLetterUrl = "" }: SqsQueue): BrokerPort {
  const { control } = clients;

  async function countsOf(url: string) {
    const AttributeNames = [
      "ApproximateNumberOfMessages",
      "ApproximateNumberOfMessagesNotVisible",
      "ApproximateNumberOfMessagesDelayed",
    ] as const;
    const command = new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: [...AttributeNames] });
    const { Attributes = {} } = await control.send(command);
    const [visible = 0, leased = 0, delayed = 0] = AttributeNames.map((name) => Number(Attributes[name]));
    return { visible, leased, delayed };
  }

  async function countDeadLetters(): Promise<number> {
    const { visible, leased, delayed } = await countsOf(deadLetterUrl);
    return visible + leased + delayed;
  }

  return {
    async act(act, messageId) {
      return sqs.acts(queueUrl)[act === "dead-letter by count" ? "deadLetterByCount" : act](messageId);
    },
    messageIds: async () => sqs.acts(queueUrl).messageIds(),
    async redriveByHand() {
      const before = await countDeadLetters();
      const move = { SourceArn: await arnOf(control, deadLetterUrl), DestinationArn: await arnOf(control, queueUrl) };
      await control.send(new StartMessageMoveTaskCommand(move));
      await played.wait(MOVE_MS);
      return before - (await countDeadLetters());
    },
    counts: async () => ({ ...(await countsOf(queueUrl)), deadLetters: await countDeadLetters() }),
    stop: sqs.pause,
    start: sqs.resume,
  };
}
