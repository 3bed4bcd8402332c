/**
 * Google's own Pub/Sub emulator as an independent peer: what it and the embedded server agree on is not just our opinion.
 * It comes with the Google Cloud SDK (component `pubsub-emulator`), is not part of this project and is never fetched.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, globSync, realpathSync } from "node:fs";
import { connect, createServer } from "node:net";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnTied } from "./tied-process.ts";

/** Where it runs; `missing`: one sentence on why it does not. */
export type GooglePubsub = RunningPubsub | { readonly missing: string };

export interface RunningPubsub {
  readonly missing?: never;
  /** `127.0.0.1:<port>` */
  readonly endpoint: string;
  /** Ends it. Harmless when repeated. */
  stop(): Promise<void>;
}

/** How to run it, or why it cannot be run. */
export type GooglePubsubPlace =
  | { readonly missing?: never; readonly java: string; readonly jar: string }
  | { readonly missing: string };

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the installer, the packages of distributions and the archive put the SDK: https://cloud.google.com/sdk/docs/install */
const INSTALL_ROOTS: readonly string[] = [
  "/usr/lib/google-cloud-sdk",
  "/usr/lib64/google-cloud-sdk",
  "/usr/share/google-cloud-sdk",
  "/opt/google-cloud-sdk",
  "/snap/google-cloud-sdk/current",
  "/opt/homebrew/share/google-cloud-sdk",
  "/usr/local/share/google-cloud-sdk",
  join(homedir(), "google-cloud-sdk"),
];
const JAR = "platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar";
const MAIN = "com.google.cloud.pubsub.testing.v1.Main";
/** Small and quick to start: it serves one test at a time. */
const JVM_OPTIONS = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
/** Between two looks at whether it listens, ms. */
const LOOK_MS = 50;

/** Looks for the jar (`PUBSUB_EMULATOR_JAR`, else where the Google Cloud SDK is installed) and for `java`. Starts nothing. */
export function findGooglePubsub(environment: Environment = process.env): GooglePubsubPlace {
  const missing = (what: string) => ({ missing: `Google's Pub/Sub emulator is not installed: ${what}.` });
  const named = environment["PUBSUB_EMULATOR_JAR"];
  if (named !== undefined && !canRead(named))
    return missing(`PUBSUB_EMULATOR_JAR names ${named}, which cannot be read`);
  const jar = named ?? newestJar(installRoots(environment));
  if (jar === undefined) return missing(`no ${JAR} in a Google Cloud SDK, and PUBSUB_EMULATOR_JAR is not set`);
  const java = findProgram("java", environment);
  if (java === undefined) return missing("there is no java on the PATH to run it with");
  return { java, jar };
}

/**
 * Starts it on a free port of 127.0.0.1 and waits until it listens. It ends with `stop`, and when this process ends, in whatever way.
 * Throws when it is installed and does not start.
 */
export async function startGooglePubsub(environment: Environment = process.env): Promise<GooglePubsub> {
  const place = findGooglePubsub(environment);
  if (place.missing !== undefined) return place;
  const port = await freePort();
  const parameters = [...JVM_OPTIONS, "-cp", place.jar, MAIN, "--host=127.0.0.1", `--port=${port}`];
  const child = spawnTied(place.java, parameters);
  const ended = once(child, "exit");
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  while (!(await listens(port))) {
    if (hasEnded(child)) throw new Error(`${place.jar} ended before it listened on port ${port}:\n${said}`);
    await sleep(LOOK_MS);
  }
  return {
    endpoint: `127.0.0.1:${port}`,
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function installRoots(environment: Environment): readonly string[] {
  const gcloud = findProgram("gcloud", environment);
  return gcloud === undefined ? INSTALL_ROOTS : [dirname(dirname(realpathSync(gcloud))), ...INSTALL_ROOTS];
}

function newestJar(roots: readonly string[]): string | undefined {
  for (const root of roots) {
    const jars = globSync(JAR, { cwd: root });
    const newest = jars.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
    if (newest !== undefined) return join(root, newest);
  }
  return undefined;
}

function findProgram(name: string, { PATH = "" }: Environment): string | undefined {
  return PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => canRead(path, constants.X_OK));
}

function canRead(path: string, mode: number = constants.R_OK): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
  return address.port;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const reached = await new Promise<boolean>((resolve) => {
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
  });
  socket.destroy();
  return reached;
}
