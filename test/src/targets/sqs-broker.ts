import { ListMessageMoveTasksCommand, StartMessageMoveTaskCommand } from "@aws-sdk/client-sqs";
import type { BrokerPort } from "../lifecycle/world.ts";
import type { AwsServers } from "./aws-servers.ts";
import { arnOf, type SqsQueue } from "./sqs-side.ts";

/** A move of dead letters has its own pace. */
const MOVE_MS = 1_000;

/** What can be done to a queue of the embedded server. */
export function brokerOf({ sqs, clients, played }: AwsServers, { queueUrl, deadLetterUrl = "" }: SqsQueue): BrokerPort {
  const { control } = clients;

  function countDeadLetters(): number {
    const { visible, inFlight, delayed } = sqs.acts(deadLetterUrl).counts();
    return visible + inFlight + delayed;
  }

  return {
    async act(act, messageId) {
      return sqs.acts(queueUrl)[act === "dead-letter by count" ? "deadLetterByCount" : act](messageId);
    },
    messageIds: async () => sqs.acts(queueUrl).messageIds(),
    async redriveByHand() {
      const move = { SourceArn: await arnOf(control, deadLetterUrl), DestinationArn: await arnOf(control, queueUrl) };
      await control.send(new StartMessageMoveTaskCommand(move));
      await played.wait(MOVE_MS);
      const tasks = await control.send(new ListMessageMoveTasksCommand({ SourceArn: move.SourceArn, MaxResults: 1 }));
      return tasks.Results?.[0]?.ApproximateNumberOfMessagesMoved ?? 0;
    },
    async counts() {
      const { visible, inFlight, delayed } = sqs.acts(queueUrl).counts();
      return { visible, leased: inFlight, delayed, deadLetters: countDeadLetters() };
    },
    stop: sqs.pause,
    start: sqs.resume,
  };
}
