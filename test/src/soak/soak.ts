import { fork } from "node:child_process";
import { once } from "node:events";
import { createClient } from "@leasehold/core";
import { createDynamoStore, createTable } from "@leasehold/dynamodb";
import { startDynamodb, startSqs } from "@leasehold/emulators";
import { createSqsQueue } from "@leasehold/sqs";
import { z } from "zod";
import { awsConfigOf } from "../chaos/ground.ts";

/** What a worker under soak has after a collection of its garbage. */
export interface Sample {
  /** Tasks that it has finished. */
  readonly done: number;
  readonly heapUsed: number;
  readonly rss: number;
  readonly external: number;
  /** Open resources of Node that are no timers: sockets, pipes. */
  readonly handles: number;
  readonly timers: number;
}

/** What the worker process is told. */
export interface SoakOrder {
  readonly queueUrl: string;
  readonly table: string;
  readonly queuePort: number;
  readonly storePort: number;
  readonly sampleMs: number;
}

export interface SoakOptions {
  readonly lastsMs: number;
  /** Tasks a second. */
  readonly rate: number;
  readonly sampleMs: number;
  readonly onSample: (sample: Sample, atMs: number) => void;
}

const NAME = "soak";
const TICK_MS = 100;
/** One task in this many fails at first, and one waits for longer than half a lease, so that it is renewed. */
const RARE = 20;
const RENEWED_MS = 1_500;

/** One worker at a steady rate, on SQS and DynamoDB servers in this process. Answers the samples, in order. */
export async function runSoak({ lastsMs, rate, sampleMs, onSample }: SoakOptions): Promise<readonly Sample[]> {
  const [sqs, dynamodb] = [await startSqs(), await startDynamodb()];
  const [queuePort, storePort] = [sqs, dynamodb].map(({ endpoint }) => Number(new URL(endpoint).port)) as [
    number,
    number,
  ];
  await createTable({ table: NAME, config: awsConfigOf(storePort) });
  const queueUrl = sqs.createQueue(NAME);
  const queue = createSqsQueue({ queueUrl, client: awsConfigOf(queuePort) });
  const store = createDynamoStore({ table: NAME, config: awsConfigOf(storePort) });
  const order: SoakOrder = { queueUrl, table: NAME, queuePort, storePort, sampleMs };
  const child = fork(new URL("./worker-process.ts", import.meta.url), {
    execArgv: ["--expose-gc"],
    env: { ...process.env, SOAK_WORKER: JSON.stringify(order) },
  });
  const exited = once(child, "exit");
  const samples: Sample[] = [];
  const started = performance.now();
  child.on("message", (sample: Sample) => {
    samples.push(sample);
    onSample(sample, performance.now() - started);
  });
  try {
    // The machine may be busy with other things: what counts is what the worker keeps.
    const client = createClient({ queue, store, retryFor: "2m" });
    const definition = { type: "soak", input: z.object({ waitMs: z.int(), fails: z.boolean() }) };
    let asked = 0;
    while (performance.now() - started < lastsMs && child.exitCode === null) {
      const due = Math.floor(((performance.now() - started) / 1_000) * rate);
      const inputs = Array.from({ length: due - asked }, (_, index) => asked + index).map((number) => ({
        waitMs: number % RARE === 1 ? RENEWED_MS : 20,
        fails: number % RARE === 2,
      }));
      await Promise.all(
        inputs.map((input, index) => client.enqueue(definition, input, { key: `key-${asked + index}` })),
      );
      asked = due;
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  } finally {
    child.kill("SIGTERM");
    await exited;
    await queue.close();
    await store.close();
    await sqs.stop();
    await dynamodb.stop();
  }
  return samples;
}

/** The middle value of a figure over a part of the samples. */
export function medianOf(samples: readonly Sample[], figure: keyof Sample): number {
  const values = samples.map((sample) => sample[figure]).sort((one, other) => one - other);
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}
