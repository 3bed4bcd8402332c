import { join } from "node:path";
import { startPubsub, startServicebus } from "@leasehold/emulators";
import type { CaseResult, RunOptions } from "../suite/run.ts";
import { goProgram } from "./go.ts";
import { virtualenv } from "./python.ts";
import { type Missing, referenceFolder, runTool } from "./tools.ts";

/** A vendor's client in another language that drives one of the embedded servers: the wire as others read it. */
export interface ReferenceClient {
  readonly name: string;
  /** For the pages. */
  readonly what: string;
  /** Installs or builds what is not there yet. */
  prepare(): Promise<ClientProgram | Missing>;
  /** Starts the server that it drives. */
  serve(): Promise<ServedClient>;
}

interface ClientProgram {
  readonly missing?: never;
  readonly program: string;
  readonly parameters: readonly string[];
}

interface ServedClient {
  /** Tells the program where the server is. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

const CLIENT_PYTHON = 10;
/** What the scripts print for a step that went as it should. */
const STEP = /^ok (.+)$/gm;

export const referenceClients: readonly ReferenceClient[] = [
  {
    name: "pubsub-python",
    what: "google-cloud-pubsub 2.44.0 (Python) on the embedded Pub/Sub",
    prepare: () => python("pubsub-client.py"),
    serve: servePubsub,
  },
  {
    name: "pubsub-go",
    what: "cloud.google.com/go/pubsub/v2 2.9.0 (Go) on the embedded Pub/Sub",
    prepare: () => go("pubsub-client"),
    serve: servePubsub,
  },
  {
    name: "servicebus-python",
    what: "azure-servicebus 7.15.0 (Python) on the embedded Service Bus",
    prepare: () => python("servicebus-client.py"),
    serve: serveServicebus,
  },
  {
    name: "servicebus-go",
    what: "azservicebus 1.11.0 (Go) on the embedded Service Bus",
    prepare: () => go("servicebus-client"),
    serve: serveServicebus,
  },
];

/** Every step that the client did counts as a case, and so does the one that ended it. */
export async function runClient(client: ReferenceClient, { only }: RunOptions): Promise<readonly CaseResult[]> {
  const one = (name: string, status: CaseResult["status"], reason?: string): CaseResult => {
    const about = { target: client.name, part: "client", subject: "steps", name, status, durationMs: 0 };
    return reason === undefined ? about : { ...about, reason };
  };
  if (only !== undefined && !client.name.includes(only)) return [];
  const prepared = await client.prepare();
  if (prepared.missing !== undefined) return [one("all", "skipped", `not run: ${prepared.missing}`)];
  const server = await client.serve();
  try {
    const { program, parameters } = prepared;
    const { ok, output } = await runTool(program, parameters, { environment: server.environment });
    const results = [...output.matchAll(STEP)].map(([, name = ""]) => one(name, "passed"));
    if (!ok)
      return [...results, one("the step after these", "failed", output.trim().split("\n").slice(-20).join("\n"))];
    return results.length > 0 ? results : [one("all", "failed", "ended well, and told of no step")];
  } finally {
    await server.stop();
  }
}

async function python(script: string): Promise<ClientProgram | Missing> {
  const installed = await virtualenv({ requirements: "requirements.txt", atLeast: CLIENT_PYTHON });
  if (installed.missing !== undefined) return installed;
  return { program: installed.python, parameters: [join(referenceFolder, script)] };
}

async function go(module: string): Promise<ClientProgram | Missing> {
  const built = await goProgram(module);
  return built.missing === undefined ? { program: built.program, parameters: [] } : built;
}

async function servePubsub(): Promise<ServedClient> {
  const server = await startPubsub();
  return { environment: { PUBSUB_EMULATOR_HOST: server.endpoint }, stop: () => server.stop() };
}

async function serveServicebus(): Promise<ServedClient> {
  const server = await startServicebus();
  server.createQueue("jobs");
  server.createQueue("jobs.fifo", { requiresSession: true });
  return { environment: { SERVICEBUS_CONNECTION_STRING: server.connectionString }, stop: () => server.stop() };
}
