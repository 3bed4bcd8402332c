import { randomUUID } from "node:crypto";
import type { EmulatorTimer } from "../clock.ts";
import type { Broker, NamedQueue } from "./broker.ts";
import { invalidParameter, SqsError } from "./errors.ts";
import type { Inventory } from "./inventory.ts";
import type { Message } from "./message.ts";

/** Redrives of whole dead-letter queues (SQS-56). A moved message is a new one: new id, count from 0, ages anew. */
export interface MoveTasks {
  start(input: MoveInput): string;
  /** The latest ones of a queue, newest first. */
  list(sourceArn: string, max: number): readonly object[];
  /** Answers how many were moved. */
  cancel(taskHandle: string): number;
  /** Stops all without a trace. */
  close(): void;
}

export interface MoveInput {
  readonly sourceArn: string;
  /** Default: where each message came from. */
  readonly destinationArn: string | undefined;
  readonly perSecond: number | undefined;
}

interface Task extends MoveInput {
  readonly handle: string;
  readonly startedAt: number;
  readonly toMove: number;
  moved: number;
  status: "RUNNING" | "COMPLETED" | "CANCELLED" | "FAILED";
  failure: string | undefined;
  timer: EmulatorTimer | undefined;
}

/** What the service allows at most, and what a task without a rate gets here. */
export const MAX_PER_SECOND = 500;
const SECOND_MS = 1_000;
const NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue";

export function createMoveTasks(broker: Broker): MoveTasks {
  const tasks: Task[] = [];

  function queueOf(arn: string, parameter: string): NamedQueue {
    const found = broker.find(arn);
    if (found !== undefined) return found;
    throw notFound(`The resource that you specified for the ${parameter} parameter doesn't exist.`);
  }

  /** Moves one message; answers why that cannot be. */
  function move(task: Task, inventory: Inventory, message: Message): string | undefined {
    const arn = task.destinationArn ?? message.deadLetterSourceArn;
    if (arn === undefined) return "CouldNotDetermineMessageSource";
    const target = broker.find(arn);
    if (target === undefined) return NO_QUEUE;
    inventory.remove(message);
    target.queue.moveIn({ ...message.content, id: randomUUID() }, { sentAt: broker.clock.now() });
    task.moved++;
    return undefined;
  }

  /** Moves one second's worth; answers what went wrong. */
  function moveSome(task: Task): string | undefined {
    const inventory = broker.find(task.sourceArn)?.queue.inventory;
    if (inventory === undefined) return NO_QUEUE;
    inventory.settleTime();
    const visible = inventory.messages().filter((message) => message.state === "visible");
    const some = visible.slice(0, task.perSecond ?? MAX_PER_SECOND);
    for (const message of some) {
      const failure = move(task, inventory, message);
      if (failure !== undefined) return failure;
    }
    if (some.length === visible.length) task.status = "COMPLETED";
    return undefined;
  }

  function run(task: Task): void {
    task.failure = moveSome(task);
    if (task.failure !== undefined) task.status = "FAILED";
    if (task.status === "RUNNING") task.timer = broker.clock.setTimer(SECOND_MS, () => run(task));
  }

  return {
    start(input) {
      const source = queueOf(input.sourceArn, "SourceArn");
      if (broker.sourcesOf(source.arn).length === 0) {
        throw invalidParameter("Source queue must be configured as a Dead Letter Queue.");
      }
      if (input.destinationArn !== undefined) queueOf(input.destinationArn, "DestinationArn");
      if (tasks.some((task) => task.sourceArn === input.sourceArn && task.status === "RUNNING")) {
        throw invalidParameter(
          "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
        );
      }
      const task: Task = {
        ...input,
        handle: Buffer.from(JSON.stringify({ taskId: randomUUID(), sourceArn: input.sourceArn })).toString("base64"),
        startedAt: broker.clock.now(),
        toMove: source.queue.inventory.counts().visible,
        moved: 0,
        status: "RUNNING",
        failure: undefined,
        timer: undefined,
      };
      tasks.unshift(task);
      run(task);
      return task.handle;
    },
    list(sourceArn, max) {
      queueOf(sourceArn, "SourceArn");
      return tasks
        .filter((task) => task.sourceArn === sourceArn)
        .slice(0, max)
        .map(render);
    },
    cancel(handle) {
      const task = tasks.find((one) => one.handle === handle);
      if (task === undefined) throw invalidParameter("Value for parameter TaskHandle is invalid.");
      if (task.status !== "RUNNING") throw notFound("Task does not exist.");
      task.timer?.cancel();
      task.status = "CANCELLED";
      return task.moved;
    },
    close() {
      for (const task of tasks) task.timer?.cancel();
    },
  };
}

function render(task: Task): object {
  return {
    TaskHandle: task.status === "RUNNING" ? task.handle : undefined,
    Status: task.status,
    SourceArn: task.sourceArn,
    DestinationArn: task.destinationArn,
    MaxNumberOfMessagesPerSecond: task.perSecond,
    ApproximateNumberOfMessagesMoved: task.moved,
    ApproximateNumberOfMessagesToMove: task.toMove,
    FailureReason: task.failure,
    StartedTimestamp: Math.floor(task.startedAt),
  };
}

function notFound(message: string): SqsError {
  return new SqsError("ResourceNotFoundException", message);
}
