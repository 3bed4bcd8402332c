import type { TestContext } from "node:test";
import { type AnyTask, type Client, createClient, createWorker } from "@leasehold/core";
import { createTaskStore } from "@leasehold/core/driver";
import { createTimeline } from "@leasehold/core/memory";
import { createDynamoItems, createTable } from "@leasehold/dynamodb";
import { type CallCounters, startDynamodb, startSqs } from "@leasehold/emulators";
import { createClients, openSqsQueue } from "@leasehold/sqs";
import { awsConfig } from "../targets/aws.ts";
import { type PlayedServer, playServer } from "../targets/played-server.ts";

const NAME = "call-budget";
/** Of a request to DynamoDB, ms: so long that a slow machine makes no request again. */
const PATIENCE_MS = 120_000;
const WRITES: ReadonlySet<string> = new Set(["PutItem", "UpdateItem", "DeleteItem"]);

/** Calls since the last look, as the servers counted them. */
export interface Counted {
  /** Of items in DynamoDB. */
  readonly writes: number;
  /** Everything else at DynamoDB. */
  readonly reads: number;
  /** `SendMessageBatch`. */
  readonly sends: number;
  /** `ChangeMessageVisibilityBatch`. */
  readonly extensions: number;
  /** Everything at SQS. */
  readonly sqs: number;
}

/** Client and workers on the embedded servers, real sockets between them, in time that moves only when everything rests. */
export interface CountedServers {
  readonly client: Client;
  readonly time: Pick<PlayedServer, "wait" | "until">;
  /** Starts a worker without recovery loop, whose reads would be counted; `stop` stops it in order. */
  startWorker(tasks: readonly AnyTask[], concurrency: number): { stop(): Promise<void> };
  /** Counts, and begins anew. */
  count(): Counted;
}

export async function openCountedServers(context: TestContext): Promise<CountedServers> {
  const timeline = createTimeline();
  const played = playServer(timeline);
  const sqs = await startSqs({ clock: timeline.clock() });
  const dynamodb = await startDynamodb();
  sqs.createQueue(NAME);
  const config = { ...awsConfig(dynamodb.endpoint), requestHandler: { requestTimeout: PATIENCE_MS } };
  const connection = { table: NAME, config };
  await createTable(connection);

  const clients = createClients(awsConfig(sqs.endpoint));
  const items = played.answered(createDynamoItems(connection));
  const clock = timeline.clock();
  const queue = await openSqsQueue({ queue: NAME, clients, clock });
  const store = createTaskStore({ items });
  context.after(async () => {
    await queue.close();
    await store.close();
    for (const each of [clients.poll, clients.control]) each.destroy();
    await sqs.stop();
    await dynamodb.stop();
    played.end();
  });

  return {
    client: createClient({ queue, store, clock }),
    time: played,
    startWorker(tasks, concurrency) {
      const stopping = new AbortController();
      const worker = createWorker({ queue, store, tasks, concurrency, recovery: false, clock: timeline.clock() });
      const running = worker.run({ signal: stopping.signal });
      return {
        stop() {
          stopping.abort();
          return played.until(running);
        },
      };
    },
    count() {
      const counted: Counted = {
        writes: sum(dynamodb.calls, (operation) => WRITES.has(operation)),
        reads: sum(dynamodb.calls, (operation) => !WRITES.has(operation)),
        sends: sqs.calls.of("SendMessageBatch").calls,
        extensions: sqs.calls.of("ChangeMessageVisibilityBatch").calls,
        sqs: sqs.calls.total(),
      };
      sqs.calls.reset();
      dynamodb.calls.reset();
      return counted;
    },
  };
}

function sum(calls: CallCounters, counts: (operation: string) => boolean): number {
  return Object.entries(calls.all()).reduce(
    (total, [operation, count]) => total + (counts(operation) ? count.calls : 0),
    0,
  );
}
