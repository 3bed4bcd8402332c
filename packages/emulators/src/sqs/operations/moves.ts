import { checkRange } from "../batch.ts";
import { missingParameter } from "../errors.ts";
import { MAX_PER_SECOND, type MoveTasks } from "../move-tasks.ts";
import type { Operations } from "./operation.ts";

interface Input {
  readonly SourceArn?: string;
  readonly DestinationArn?: string;
  readonly MaxNumberOfMessagesPerSecond?: number;
  readonly MaxResults?: number;
  readonly TaskHandle?: string;
}

const MAX_RESULTS = 10;

/** Redrives of whole dead-letter queues. */
export function moveOperations(tasks: MoveTasks): Operations {
  return {
    StartMessageMoveTask(input: Input) {
      if (input.SourceArn === undefined) throw missingParameter("SourceArn");
      checkRange("MaxNumberOfMessagesPerSecond", input.MaxNumberOfMessagesPerSecond, 1, MAX_PER_SECOND);
      return {
        TaskHandle: tasks.start({
          sourceArn: input.SourceArn,
          destinationArn: input.DestinationArn,
          perSecond: input.MaxNumberOfMessagesPerSecond,
        }),
      };
    },
    ListMessageMoveTasks(input: Input) {
      if (input.SourceArn === undefined) throw missingParameter("SourceArn");
      checkRange("MaxResults", input.MaxResults, 1, MAX_RESULTS);
      return { Results: tasks.list(input.SourceArn, input.MaxResults ?? 1) };
    },
    CancelMessageMoveTask(input: Input) {
      if (input.TaskHandle === undefined) throw missingParameter("TaskHandle");
      return { ApproximateNumberOfMessagesMoved: tasks.cancel(input.TaskHandle) };
    },
  };
}
