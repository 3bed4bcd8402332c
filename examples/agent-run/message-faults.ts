import type { QueueDriver } from "@leasehold/core";
import type { OutgoingMessage, SendOutcome } from "@leasehold/core/driver";
import type { FaultKind } from "./faults.ts";
import type { QueueServer } from "./servers/queue-server.ts";

/**
 * The queue as the agent's client sees it: of the messages that it sends one vanishes, and one is delivered twice. `targetOf`: the id of
 * the task that a fault hits. What has come to pass is added to `happened`.
 */
export function withMessageFaults(
  { queue, nowhere, doubleMessage }: QueueServer,
  targetOf: (kind: FaultKind) => string | undefined,
  happened: Map<FaultKind, string>,
): QueueDriver {
  async function sendOne(
    message: OutgoingMessage,
    sendOptions: Parameters<QueueDriver["send"]>[1],
  ): Promise<readonly SendOutcome[]> {
    const taskId = taskIdIn(message.body);
    const vanishes = taskId !== undefined && taskId === targetOf("lost_message");
    const outcomes = await (vanishes ? nowhere : queue).send([message], sendOptions);
    const [outcome] = outcomes;
    if (taskId === undefined || outcome?.status !== "confirmed") return outcomes;
    if (vanishes) happened.set("lost_message", taskId);
    if (taskId === targetOf("doubled_message") && doubleMessage(outcome.messageId ?? message.id))
      happened.set("doubled_message", taskId);
    return outcomes;
  }

  return {
    ...queue,
    async send(messages, sendOptions) {
      const outcomes: SendOutcome[] = [];
      for (const message of messages) outcomes.push(...(await sendOne(message, sendOptions)));
      return outcomes;
    },
  };
}

/** The id of an event that leasehold sent is the task's. */
function taskIdIn(body: string): string | undefined {
  return (JSON.parse(body) as { readonly id?: string }).id;
}
