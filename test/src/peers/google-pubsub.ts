/**
 * Google's own Pub/Sub emulator as an independent peer: what it and the embedded server agree on is not just our opinion.
 * It comes with the Google Cloud SDK (component `pubsub-emulator`), is not part of this project and is never fetched.
 */
import { globSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { canRead, type Environment, findProgram, type ServerProcess, startServer } from "./server-process.ts";

/** Where it runs; `missing`: one sentence on why it does not. */
export type GooglePubsub = RunningPubsub | { readonly missing: string };

export interface RunningPubsub extends ServerProcess {
  readonly missing?: never;
}

/** How to run it, or why it cannot be run. */
export type GooglePubsubPlace =
  | { readonly missing?: never; readonly java: string; readonly jar: string }
  | { readonly missing: string };

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
  const { java, jar } = place;
  return startServer({
    name: jar,
    program: java,
    parameters: (port) => [...JVM_OPTIONS, "-cp", jar, MAIN, "--host=127.0.0.1", `--port=${port}`],
  });
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
