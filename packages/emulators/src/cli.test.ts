import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, it, type TestContext } from "node:test";
import { ServiceBusClient } from "@azure/service-bus";
import { PubSub } from "@google-cloud/pubsub";

interface Line {
  readonly sqs: string;
  readonly dynamodb: string;
  readonly pubsub: string;
  readonly servicebus: string;
  readonly queues: Readonly<Record<string, string>>;
}

function start(test: TestContext, ...parameters: string[]): ChildProcess & { readonly stdout: NodeJS.ReadableStream } {
  const child = spawn(process.execPath, [`${import.meta.dirname}/cli.ts`, ...parameters], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  test.after(() => child.kill("SIGKILL"));
  return child;
}

const post = async (endpoint: string, target: string, body: object): Promise<unknown> => {
  const headers = { "x-amz-target": target, "content-type": "application/x-amz-json-1.0" };
  const authorization =
    "AWS4-HMAC-SHA256 Credential=a/b/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=c";
  const init = { method: "POST", headers: { ...headers, authorization, "x-amz-date": "20260101T000000Z" } };
  return (await fetch(endpoint, { ...init, body: JSON.stringify(body) })).json();
};

describe("the program", () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it(`starts all, tells a program where they are, and ends on ${signal}`, async (test) => {
      const child = start(test, "--json", "--queue", "jobs", "--queue", "jobs.fifo");
      const [text] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
      const { sqs, dynamodb, pubsub, servicebus, queues } = JSON.parse(text) as Line;
      assert.deepEqual(Object.keys(queues), ["jobs", "jobs.fifo"]);
      assert.deepEqual(await post(sqs, "AmazonSQS.ListQueues", {}), { QueueUrls: Object.values(queues) });
      assert.deepEqual(await post(dynamodb, "DynamoDB_20120810.ListTables", {}), { TableNames: [] });
      const client = new ServiceBusClient(servicebus);
      assert.deepEqual(await client.createReceiver("jobs").peekMessages(1), []);
      await client.close();
      const google = new PubSub({ apiEndpoint: pubsub, projectId: "local", emulatorMode: true });
      assert.deepEqual(await google.subscription("jobs").exists(), [true]);
      await google.close();
      child.kill(signal);
      assert.deepEqual(await once(child, "exit"), [0, null]);
    });
  }

  it("tells a person how to reach them", async (test) => {
    const child = start(test);
    let text = "";
    for await (const line of createInterface({ input: child.stdout })) {
      text += `${line}\n`;
      if (line.startsWith("Ctrl-C")) break;
    }
    const command = /curl -s (\S+) -H 'x-amz-target: (AmazonSQS.SendMessage)' \\\n +-d '(.+)'/.exec(text);
    assert.ok(command, text);
    const [, endpoint = "", target = "", body = ""] = command;
    const answer = (await post(endpoint, target, JSON.parse(body) as object)) as { readonly MessageId?: string };
    assert.match(answer.MessageId ?? "", /^[0-9a-f-]{36}$/);
  });
});
