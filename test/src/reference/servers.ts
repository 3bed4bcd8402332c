import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../peers/server-process.ts";
import type { Place } from "../suite/run.ts";
import type { Divergence } from "./divergence.ts";
import { goProgram } from "./go.ts";
import { localstackDivergences } from "./localstack-divergences.ts";
import { motoDivergences } from "./moto-divergences.ts";
import { pstestDivergences } from "./pstest-divergences.ts";
import { virtualenv } from "./python.ts";
import { type Missing, referenceFolder } from "./tools.ts";

/** A server that others wrote, which one of the machine's toolchains installs by the name of its package. */
export interface ReferenceServer {
  readonly name: string;
  /** For the pages: what it is, and whose. */
  readonly what: string;
  /** Targets of the conformance suite that are run on it. */
  readonly targets: readonly string[];
  readonly divergences: readonly Divergence[];
  /** Cases at the same time, where it takes few connections. */
  readonly sideBySide?: number;
  /** Installs what is not there yet, and starts it. Throws when it is installed and does not start. */
  start(): Promise<StartedServer | Missing>;
}

export interface StartedServer {
  readonly missing?: never;
  readonly place: Place;
  stop(): Promise<void>;
}

/** Oldest Python 3 for LocalStack: it declares an older one, and uses what came with this one. */
const LOCALSTACK_PYTHON = 13;
const MOTO_PYTHON = 10;

export const referenceServers: readonly ReferenceServer[] = [
  {
    name: "moto-sqs",
    what: "[moto](https://docs.getmoto.org/en/latest/docs/server_mode.html) 5.2.5, SQS",
    targets: ["sqs", "sqs/fifo"],
    divergences: motoDivergences,
    start: () => startMoto("sqs"),
  },
  {
    name: "moto-dynamodb",
    what: "[moto](https://docs.getmoto.org/en/latest/docs/server_mode.html) 5.2.5, DynamoDB",
    targets: ["dynamodb"],
    divergences: motoDivergences,
    start: () => startMoto("dynamodb"),
  },
  {
    name: "localstack-sqs",
    what: "[LocalStack](https://docs.localstack.cloud/aws/services/sqs/) 4.14.0, the last that starts without an account, SQS",
    targets: ["sqs", "sqs/fifo"],
    divergences: localstackDivergences,
    start: startLocalstack,
  },
  {
    name: "pstest",
    what: "[pstest](https://pkg.go.dev/cloud.google.com/go/pubsub/v2/pstest) of Google's Go module 2.9.0",
    targets: ["pubsub", "pubsub/ordered"],
    divergences: pstestDivergences,
    start: startPstest,
  },
];

async function startMoto(service: "sqs" | "dynamodb"): Promise<StartedServer | Missing> {
  const installed = await virtualenv({ requirements: "moto-requirements.txt", atLeast: MOTO_PYTHON });
  if (installed.missing !== undefined) return installed;
  const server = await startServer({
    name: "moto",
    program: installed.python,
    parameters: (port) => [join(referenceFolder, "moto-server.py"), service, String(port)],
  });
  return { ...server, place: { endpoint: `http://${server.endpoint}` } };
}

async function startLocalstack(): Promise<StartedServer | Missing> {
  const installed = await virtualenv({ requirements: "localstack-requirements.txt", atLeast: LOCALSTACK_PYTHON });
  if (installed.missing !== undefined) return installed;
  const folder = mkdtempSync(join(tmpdir(), "leasehold-localstack-"));
  const server = await startServer({
    name: "LocalStack",
    program: installed.python,
    parameters: () => ["-m", "localstack.runtime.main"],
    environment: (port) => ({
      ...process.env,
      GATEWAY_LISTEN: `127.0.0.1:${port}`,
      // The default one is not among its runtime's own dependencies.
      GATEWAY_SERVER: "hypercorn",
      SERVICES: "sqs",
      STRICT_SERVICE_LOADING: "1",
      EAGER_SERVICE_LOADING: "1",
      // Nothing is asked of, or told to, anybody outside.
      DISABLE_EVENTS: "1",
      SKIP_SSL_CERT_DOWNLOAD: "1",
      DNS_ADDRESS: "0",
      HOME: folder,
      FILESYSTEM_ROOT: folder,
    }),
  });
  const endpoint = `http://${server.endpoint}`;
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await answersSqs(endpoint);
  } catch (error) {
    await stop();
    throw error;
  }
  return { place: { endpoint }, stop };
}

/** It reads the description of SQS at the first call, which takes longer than clients wait. */
async function answersSqs(endpoint: string): Promise<void> {
  const answer = await fetch(endpoint, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": "AmazonSQS.ListQueues",
      authorization: "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/sqs/aws4_request",
    },
    body: "{}",
  });
  if (!answer.ok) throw new Error(`LocalStack answers ListQueues with ${answer.status}: ${await answer.text()}`);
}

async function startPstest(): Promise<StartedServer | Missing> {
  const built = await goProgram("pstest");
  if (built.missing !== undefined) return built;
  const server = await startServer({
    name: "pstest",
    program: built.program,
    parameters: (port) => [`127.0.0.1:${port}`],
  });
  return { ...server, place: { endpoint: server.endpoint } };
}
